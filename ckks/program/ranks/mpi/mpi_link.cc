#include "ckks/program/ranks/mpi/mpi_link.h"

#define OMPI_SKIP_MPICXX
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <new>
#include <optional>
#include <thread>

#include "ckks/base/error.h"

namespace psm::program {
namespace {

constexpr int kTagFailed = 0,
              kTagStop = 1;  // to rank 0: why; from it: the exit code. Names begin behind them.
constexpr int kFirstName = 2;
constexpr unsigned kPatience = 3;  // seconds for an orderly end, before the process is killed

class MpiLink final : public Link {
 public:
  MpiLink() : thread_([this] { work(); }) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return ranks_ > 0; });
  }
  ~MpiLink() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  int ranks_here() const override { return ranks_here_; }
  uint64_t largest_name() const override { return static_cast<uint64_t>(largest_tag_ - kFirstName); }

  void send(int to, uint64_t name, Buffer words) override {
    PSM_CHECK(name <= largest_name(), "a message named ", name);
    const std::lock_guard<std::mutex> lock(mutex_);
    outgoing_.push_back({to, static_cast<int>(name) + kFirstName, std::move(words)});
    changed_.notify_all();
  }

  std::pair<int, Buffer> receive(int from, uint64_t name) override { return mailbox_.take(from, name); }

  [[noreturn]] void fail(const std::string& text, int exit_code) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      failure_ = {text, exit_code};
    }
    changed_.notify_all();
    for (;;) pause();  // the other thread ends the process
  }

 private:
  struct Message {
    int peer, tag;
    Buffer words;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // The thread of MPI.
  void work() {
    int provided = 0, is_set = 0;
    int* largest = nullptr;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &is_set);
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      largest_tag_ = is_set ? *largest : 32767;  // the least that MPI promises
      MPI_Comm_size(here, &ranks_here_);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
      MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    }
    changed_.notify_all();
    MPI_Comm_free(&here);
    for (;;) {
      bool moved = true;
      try {
        begin_sends();
        moved = complete(sending_) + complete(receiving_) + begin_receive() > 0;
      } catch (const std::bad_alloc&) {
        report(rank_, "out of memory for a message", 1);
      }
      std::unique_lock<std::mutex> lock(mutex_);
      if (failure_) {
        const auto [text, code] = *std::exchange(failure_, std::nullopt);
        lock.unlock();
        report(rank_, text, code);
        continue;
      }
      if (moved || !outgoing_.empty()) continue;
      const bool in_flight = !sending_.empty() || !receiving_.empty();
      if (done_ && !in_flight) break;
      // Nobody tells this thread that a message has come: it looks.
      changed_.wait_for(lock, std::chrono::microseconds(in_flight ? 20 : 500));
    }
    MPI_Finalize();
  }

  void begin_sends() {
    std::list<Message> taken;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      taken.swap(outgoing_);
    }
    for (Message& m : taken)
      MPI_Isend(m.words.data(), static_cast<int>(m.words.size()), MPI_UINT64_T, m.peer, m.tag, MPI_COMM_WORLD,
                &m.request);
    sending_.splice(sending_.end(), taken);
  }

  bool begin_receive() {
    int found = 0, words = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status);
    if (!found) return false;
    MPI_Get_count(&status, MPI_UINT64_T, &words);
    receiving_.push_back({status.MPI_SOURCE, status.MPI_TAG, Buffer(static_cast<size_t>(words))});
    Message& m = receiving_.back();
    MPI_Imrecv(m.words.data(), words, MPI_UINT64_T, &message, &m.request);
    return true;
  }

  // Removes what has been sent, and delivers what has come. Returns whether there was any.
  bool complete(std::list<Message>& messages) {
    bool any = false;
    for (auto m = messages.begin(); m != messages.end();) {
      int done = 0;
      MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
      if (!done) {
        ++m;
        continue;
      }
      any = true;
      if (&messages == &receiving_) deliver(*m);
      m = messages.erase(m);
    }
    return any;
  }

  void deliver(Message& m) {
    if (m.tag == kTagStop) end(static_cast<int>(m.words[0]));
    if (m.tag == kTagFailed) {
      const std::string text = text_of(m.words);
      return report(m.peer, text.substr(1), text.front());
    }
    mailbox_.put(m.peer, static_cast<uint64_t>(m.tag - kFirstName), std::move(m.words));
  }

  // Rank 0 says it for all, once.
  void report(int rank, const std::string& text, int code) {
    if (rank_ != 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      outgoing_.push_back({0, kTagFailed, words_of(static_cast<char>(code) + text)});
      return;  // and is told to stop
    }
    alarm(kPatience);  // for the print: the other thread may hold stderr, blocked in a write
    std::fprintf(stderr, "error: rank %d: %s\n", rank, text.c_str());
    std::list<Message> stops;
    for (int to = 1; to < ranks_; ++to) {
      stops.push_back({to, kTagStop, Buffer(1)});
      stops.back().words[0] = static_cast<uint64_t>(code);
      MPI_Isend(stops.back().words.data(), 1, MPI_UINT64_T, to, kTagStop, MPI_COMM_WORLD,
                &stops.back().request);
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!stops.empty() && std::chrono::steady_clock::now() < give_up) complete(stops);
    end(code);
  }

  // Ends the process in the middle of whatever it computes.
  [[noreturn]] void end(int code) {
    alarm(kPatience);  // before the streams: the other thread may hold one, blocked in a write
    std::fflush(nullptr);
    MPI_Finalize();
    std::_Exit(code);
  }

  int rank_ = 0, ranks_ = 0, ranks_here_ = 0, largest_tag_ = 0;
  Mailbox mailbox_;
  std::list<Message> sending_, receiving_;  // the thread's own
  std::mutex mutex_;                        // of what follows
  std::condition_variable changed_;
  std::list<Message> outgoing_;
  std::optional<std::pair<std::string, int>> failure_;
  bool done_ = false;
  std::thread thread_;  // last, as it uses all that
};

}  // namespace

std::unique_ptr<Link> open_link() {
  auto link = std::make_unique<MpiLink>();
  if (link->ranks() == 1) return nullptr;
  return link;
}

}  // namespace psm::program
