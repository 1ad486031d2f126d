// Messages between the ranks of one computation. A message is a list of words with a name, a small number. Messages of
// one name from one rank arrive in the order in which they were sent; others overtake one another.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "ckks/base/buffer.h"

namespace psm::program {

class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // How many of them share this machine and its memory, this one included.
  virtual int ranks_here() const = 0;
  virtual uint64_t largest_name() const = 0;
  // Returns at once; the message travels while this rank computes.
  virtual void send(int to, uint64_t name, Buffer words) = 0;
  // Waits for a message. `from` may be kAnyRank; returns who sent it.
  virtual std::pair<int, Buffer> receive(int from, uint64_t name) = 0;
  // Ends all ranks. The message is printed once, with this rank's number; all exit with this code or are killed.
  [[noreturn]] virtual void fail(const std::string& message, int exit_code) = 0;
};

constexpr int kAnyRank = -1;
// The name of a message that brings value 0, value 1 and so on. The names before are their users'.
constexpr uint64_t kFirstValue = 16;

// A text as words: its length, then its bytes.
inline Buffer words_of(std::string_view text) {
  Buffer words(1 + (text.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  words[words.size() - 1] = 0;
  words[0] = text.size();
  std::memcpy(words.data() + 1, text.data(), text.size());
  return words;
}
inline std::string text_of(const Buffer& words) {
  if (words.empty()) return {};
  const size_t room = (words.size() - 1) * sizeof(uint64_t);
  return {reinterpret_cast<const char*>(words.data() + 1), std::min<size_t>(words[0], room)};
}

// Messages that have arrived and wait to be read. Thread-safe.
class Mailbox {
 public:
  void put(int from, uint64_t name, Buffer words) {
    const std::lock_guard<std::mutex> lock(mutex_);
    messages_[name].emplace_back(from, std::move(words));
    arrived_.notify_all();
  }
  std::pair<int, Buffer> take(int from, uint64_t name) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      auto& queue = messages_[name];
      for (auto at = queue.begin(); at != queue.end(); ++at) {
        if (from != kAnyRank && at->first != from) continue;
        std::pair<int, Buffer> message = std::move(*at);
        queue.erase(at);
        return message;
      }
      arrived_.wait(lock);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<uint64_t, std::deque<std::pair<int, Buffer>>> messages_;  // by name
};

}  // namespace psm::program
