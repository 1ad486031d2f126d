// The server: runs a model on ciphertexts with public keys only. It links no secret key.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/interruption.h"
#include "ckks/base/memory.h"
#include "ckks/base/progress.h"
#include "ckks/base/touched_memory.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/protocol/group_files.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/reports/ledger_report.h"
#include "cmd/server/chosen_engine.h"
#include "cmd/server/commitment_files.h"
#include "cmd/server/device.h"
#include "cmd/server/inference_state.h"
#include "cmd/server/memory_flag.h"
#include "cmd/server/ranks/ranks.h"
#include "cmd/server/run_digests.h"
#include "cmd/server/run_figures.h"
#include "cmd/server/server.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// A file of prompts, and where its answers go. Everything about it that can be known to fail is refused here. The
// file is open only while it runs: there may be more of them than a process may open.
class Request {
 public:
  struct Paths {
    std::string shown, in, out, state;  // `shown`: as the user named it
  };

  Request(Paths paths, const GroupFile<>& file, const PlannedPass& pass, const std::string& program)
      : paths_(std::move(paths)),
        pass_(pass),
        keys_(file.reader.fingerprint()),
        checksum_(file.reader.checksum()),
        note_(file.note),
        groups_(require_groups(file.reader, note_, pass.ends(), FileOf::kPrompts, *pass.context, paths_.shown,
                               program)),
        state_(paths_.state, pass, file.reader, groups_) {
    AtomicFile probe(paths_.out);
  }

  const Paths& paths() const { return paths_; }
  size_t groups() const { return groups_; }
  ckks::Fingerprint keys() const { return keys_; }
  CommitmentNote commitment() const { return {note_.program_id, note_.request, {}, {}}; }  // without roots

  // Runs the groups that are not finished yet and writes the answers; what is finished is kept, whatever the
  // next group brings. `before`: groups of earlier requests.
  // With `digests`, a line of text for each instruction is added to it. `committed` may be null.
  void run(Passes& server, RunFigures& figures, Progress& progress, size_t before, std::string* digests,
           CommittedPasses* committed) {
    GroupFile<> file(paths_.shown, *pass_.context);
    if (file.reader.checksum() != checksum_) throw Error(paths_.shown + " changed after it was checked");
    if (const std::string saved = state_.text(); !saved.empty())
      print(paths_.shown, " goes on from its state: ", saved, " are done\n");
    for (size_t group = state_.answers().size(); group < groups_; ++group) {
      const auto keep_and_stop = [&](const char* why, Error::Kind kind) {
        write_answers();
        throw Error(message(why, "; ", answered(group)), kind);
      };
      try {
        run_group(file, group, server, figures, progress, before + group, digests, committed);
      } catch (const Interrupted&) {
        throw Interrupted(keep(group));
      } catch (const Error& error) {
        if (group == 0) throw;
        keep_and_stop(error.what(), error.kind());
      } catch (const std::bad_alloc&) {
        if (group == 0) throw;
        keep_and_stop("out of memory", Error::Kind::kFailed);
      }
    }
    write_answers();
    state_.remove();
  }

 private:
  void run_group(GroupFile<>& file, size_t group, Passes& server, RunFigures& figures, Progress& progress,
                 size_t before, std::string* digests, CommittedPasses* committed) {
    program::RunOptions options;
    RunDigests of_run;
    if (digests != nullptr) of_run.watch(options);
    if (committed != nullptr) committed->watch(options);
    options.progress = [&](size_t done, size_t total) {
      progress.set(static_cast<double>(before * total + done));
      stop_if_interrupted("");  // run() says what is kept
    };
    state_.watch(options);
    program::RunResult result;
    if (auto checkpoint = state_.take_checkpoint()) {
      result = server.resume(std::move(*checkpoint), options);
    } else {
      result = server.run(file.load(group), options);
      figures.add_pass(result);
    }
    for (const uint64_t digest : of_run.take()) *digests += hex(digest) + "\n";
    state_.finish_group(std::move(result.outputs));
  }

  std::string answered(size_t group) const {
    return message(paths_.out, " has the answers of the first ", group, " of ", groups_,
                   " groups of prompts");
  }

  // What is left where `group` was interrupted, and how to go on.
  std::string keep(size_t group) const {
    if (const std::string saved = state_.text();
        !paths_.state.empty() && !saved.empty() && !state_.lacks_answers())
      return message("of ", paths_.shown, " ", saved, " are kept in ", paths_.state,
                     "; run the same command again to go on from there");
    if (group == 0)
      return message("nothing of ", paths_.shown, " was kept; ",
                     paths_.state.empty() ? "with --state FOLDER a run goes on where it was"
                                          : "run the same command again to begin anew");
    write_answers();
    return answered(group);
  }

  void write_answers() const {
    CiphertextNote answer = note_;
    answer.names = names_of(pass_.ends().outputs);
    wire::CiphertextWriter writer(paths_.out, *pass_.context, keys_, note_text(answer));
    for (const auto& outputs : state_.answers()) {
      for (const std::string& name : answer.names) writer.write(outputs.at(name));
    }
    writer.commit();
  }

  Paths paths_;
  const PlannedPass& pass_;
  ckks::Fingerprint keys_;
  uint64_t checksum_;
  CiphertextNote note_;
  size_t groups_;
  InferenceState state_;
};

// Whether `out` answers every group of this very request. What cannot be read answers none.
bool is_answered(const std::string& in, const std::string& out, const ckks::Context& context) {
  try {
    const GroupFile<> asked(in, context), found(out, context);
    // As many groups: a group has a ciphertext of each name.
    return found.note.request == asked.note.request &&
           found.reader.heads().size() * asked.note.names.size() ==
               asked.reader.heads().size() * found.note.names.size();
  } catch (const Error&) {
    return false;
  }
}

// A file of the folders.
Request::Paths paths_in(const std::string& in, const std::string& out, const std::string& state,
                        const std::string& name) {
  const auto file = [&](const std::string& folder) {
    return (std::filesystem::path(resolve_user_path(folder)) / name).string();
  };
  return {(std::filesystem::path(in) / name).string(), file(in), file(out), state.empty() ? "" : file(state)};
}

// A folder for answers of which none came, if it was made for them.
struct RemovedIfEmpty {
  ~RemovedIfEmpty() {
    if (made) ::rmdir(path.c_str());
  }
  const std::string path;
  bool made = false;
};

// One file; or of a folder all files whose answers are not there yet, by name.
std::vector<Request::Paths> requests(const std::string& in, const std::string& out, const std::string& state,
                                     const ckks::Context& context, RemovedIfEmpty& out_folder) {
  namespace fs = std::filesystem;
  const std::string from = resolve_user_path(in), states = resolve_user_path(state);
  const std::string& to = out_folder.path;
  if (!fs::is_directory(from)) return {{in, from, to, states}};
  std::error_code failed;
  out_folder.made = fs::create_directories(to, failed);
  if (!fs::is_directory(to)) throw Error(message(in, " is a folder, and ", out, " is none; give one"));
  if (!states.empty()) fs::create_directories(states, failed);
  std::vector<Request::Paths> all;
  bool any = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, failed)) {
    const std::string name = entry.path().filename();
    std::error_code unknown;  // of a link that leads nowhere
    if (!entry.is_regular_file(unknown) || name.starts_with(".") || is_unfinished(name)) continue;
    any = true;
    Request::Paths paths = paths_in(in, out, state, name);
    if (!is_answered(paths.in, paths.out, context)) all.push_back(std::move(paths));
  }
  if (failed) throw Error(message("cannot read ", in, ": ", failed.message()));
  if (!any) throw Error(message("the folder ", in, " has no files"));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.in < b.in; });
  return all;
}

// `ranks`: null if this process is alone.
int infer(int argc, char** argv, Ranks* ranks) {
  Command flags(
      "bazel run //cmd:infer -- --program PROGRAM --keys FILE --in FILE --out FILE [flags]",
      "Runs a compiled model on encrypted prompts. Needs the program and evaluation.keys; sees no "
      "secret key. With --state a run that was interrupted goes on from its last completed block. "
      "If a group of prompts cannot be run, the answers of those before it are written all the "
      "same. If --in is a folder, its files are answered one after the other, with the keys read "
      "once, into files of the same names in the folder --out; those whose answers are there "
      "already are left out, and what is wrong with one holds up no other. Built with --config=mpi and "
      "started as mpirun -n R, R processes compute each pass together, or share the files of a folder.");
  const std::string& program_path = flags.text("program", "", "the program (NAME.program of //cmd:compile)");
  const std::string& keys_path = flags.text("keys", "", "evaluation keys (evaluation.keys of //cmd:keygen)");
  const std::string& in =
      flags.text("in", "", "encrypted prompts (from //cmd:encrypt): a file, or a folder of them");
  const std::string& out =
      flags.output("out", "file, or folder, for the encrypted answers", Flags::Output::kFileOrFolder);
  const std::string& state_path = flags.output(
      "state", "folder to save the run in after every block, and to resume it from", Flags::Output::kFolder);
  const std::string& digests_path =
      flags.output("digests", "file for a digest of every instruction's result, a line each");
  const std::string& commit_path =
      flags.output("commit", "file for a commitment to all that is computed, for //cmd:audit");
  const std::string& challenge =
      flags.text("challenge", "", "of //cmd:audit, to an earlier run with --commit");
  const std::string& openings = flags.output("openings", "file for what the challenge asks to see");
  const std::string& network =
      flags.text("link", "10GbE",
                 "what is between the ranks of mpirun: its speed, with the latency if known (2us,40GbE)");
  const LedgerFlag ledger_file(flags);
  const FileRingFlags ring(flags);
  const DeviceFlag device_flag(flags);
  const MemoryFlag memory_flag(flags);
  flags.begin(argc, argv, {"program", "keys", "in", "out"});
  const bool is_folder = std::filesystem::is_directory(resolve_user_path(in));
  const bool leads = ranks == nullptr || ranks->leads();
  const bool shares_passes = ranks != nullptr && !is_folder, shares_files = ranks != nullptr && is_folder;
  if (ranks == nullptr && flags.given("link"))
    throw Error("--link is between the ranks of mpirun; leave it out");
  const bool commits = flags.given("commit") || flags.given("openings");
  if (flags.given("challenge") != flags.given("openings"))
    throw Error("--challenge and --openings belong together; give both");
  if (commits && (is_folder || !state_path.empty()))
    throw Error("--commit and --openings are for one file, without --state: the whole run is hashed");
  if (flags.given("digests") && !state_path.empty())
    throw Error("--digests is of whole passes; leave --state out");
  for (const char* flag : {"device", "digests", "ledger", "commit", "openings"})
    if (ranks != nullptr && flags.given(flag))
      throw Error(message("--", flag, " is for one process; leave it out, or run without mpirun"));
  if (leads && is_folder) {
    require_writable_folder(resolve_user_path(out));
  } else if (leads) {
    AtomicFile probe(resolve_user_path(out));
  }
  const std::unique_ptr<ckks::Device> device = device_flag.open();

  const double start = seconds_now();
  const std::string key_file = resolve_user_path(keys_path);
  program::VerifiedProgram verified = program::load_program(resolve_user_path(program_path));
  const program::ProgramDigest digest = verified.file.digest;
  PlannedPass pass(std::move(verified));
  if (leads || !ring.insecure) ring.require_security(*pass.context);
  const ckks::Context& context = *pass.context;
  const PlanEnds ends = pass.ends();

  // All that can be known to fail is refused before the keys are read.
  wire::EvaluationKeysReader key_reader(key_file, context);
  key_reader.require(pass.keys);
  if (ranks != nullptr) ranks->require_same(digest, key_reader.fingerprint(), is_folder, network);
  if (shares_passes && !leads) {
    ranks->share(pass, key_reader, memory_flag, 0, false)->serve();
    return 0;
  }
  const InterruptionWatch watch;
  RemovedIfEmpty out_folder{resolve_user_path(out)};  // which rank 0 makes, and it ends last
  std::vector<std::unique_ptr<Request>> all;
  size_t groups = 0, most_groups = 0, answered = 0;
  std::string unanswered;  // files of a folder, where one that is wrong holds up no other
  const auto attempt = [&](const std::string& shown, auto&& action) {
    if (!is_folder) return action();
    const auto leave_out = [&](const char* why) {
      std::fprintf(stderr, "warning: %s is not answered: %s\n", visible(shown).c_str(), visible(why).c_str());
      unanswered += (unanswered.empty() ? "" : ", ") + shown;
    };
    try {
      action();
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      leave_out(error.what());
    } catch (const std::bad_alloc&) {
      leave_out("out of memory");
    }
  };
  const auto require_all = [&] {
    if (unanswered.empty()) return;
    throw Error(message("these files were not answered, for the reasons above: ", unanswered),
                Error::Kind::kFailed);
  };
  const auto opened = [&](Request::Paths paths) {
    const GroupFile<> file(paths.shown, context);
    auto request = std::make_unique<Request>(std::move(paths), file, pass, program_path);
    if (key_reader.fingerprint() != request->keys())
      throw Error(message(request->paths().shown, " belongs to another key pair than ", keys_path));
    return request;
  };
  if (leads) {
    for (Request::Paths& paths : requests(in, out, state_path, context, out_folder)) {
      attempt(std::string(paths.shown), [&] {
        auto request = opened(std::move(paths));
        groups += request->groups();
        most_groups = std::max(most_groups, request->groups());
        all.push_back(std::move(request));
      });
    }
  }
  std::optional<CommittedPasses> committed;
  if (commits)
    committed.emplace(pass.plan, context.chain(), all[0]->commitment(), groups, resolve_user_path(challenge));
  size_t files = all.size();
  if (shares_files) {
    std::vector<std::string> names;
    for (const auto& request : all) names.push_back(std::filesystem::path(request->paths().in).filename());
    files = ranks->deal(std::move(names), most_groups);
    all.clear();  // each is opened by the rank that gets it
  }
  if (files == 0) {
    require_all();
    if (leads) print(out, " has the answers of all files of ", in, "\n");
    return 0;
  }
  // In addition to what the machine holds: the inputs of the group that runs, the answers of its file, and what is opened.
  const size_t beside = group_bytes(context, ends.inputs) + most_groups * group_bytes(context, ends.outputs) +
                        (committed ? committed->opened_bytes() : 0);
  if (!shares_passes) {
    const uint64_t available = device ? 0 : available_memory_bytes(ranks == nullptr ? 1 : ranks->here());
    pass.reading.encoded_limit = memory_flag.left_for_plaintexts(
        pass.reading.least_bytes() + static_cast<double>(beside), pass.reading.encoded_limit, available);
    const size_t wanted = pass.server_bytes(device != nullptr) + beside;
    if (shares_files) {
      ranks->require_memory_of_each(wanted);
    } else {
      require_memory(wanted);
    }
  }
  fit_to_device(device.get(), pass);

  RunFigures figures(pass, 0, device != nullptr);
  ckks::EvaluationKeys keys;
  if (!shares_passes) {
    figures.calibrate();
    TouchedMemory memory(device ? 0 : static_cast<size_t>(pass.reading.run_bytes()));
    keys = read_keys(key_reader, pass.keys);
    figures.touched(memory.finish());
  }
  const double loaded = seconds_now();
  std::unique_ptr<SharedPasses> shared;
  std::unique_ptr<Server> own;
  if (shares_passes) {
    shared = ranks->share(pass, key_reader, memory_flag, beside, !state_path.empty());
  } else {
    own = std::make_unique<Server>(pass, keys, engine_on(device.get(), context));
  }
  Passes& server = shares_passes ? static_cast<Passes&>(*shared) : *own;
  const double prepared = seconds_now();
  figures.prepared(prepared - loaded);

  const program::Plan& plan = pass.plan;
  std::string digests;
  {
    Progress progress("inferring", static_cast<double>(plan.program.instructions.size() * groups));
    size_t before = 0;
    for (auto& request : all) {
      attempt(request->paths().shown, [&] {
        request->run(server, figures, progress, before, digests_path.empty() ? nullptr : &digests,
                     committed ? &*committed : nullptr);
        ++answered;
      });
      before += request->groups();
      request.reset();  // and its answers
    }
    for (std::string name = shares_files ? ranks->next() : ""; !name.empty(); name = ranks->next()) {
      attempt((std::filesystem::path(in) / name).string(), [&] {
        opened(paths_in(in, out, state_path, name))->run(server, figures, progress, 0, nullptr, nullptr);
        ++answered;
      });
    }
  }
  if (shares_files) unanswered = ranks->gather(unanswered);
  if (!leads) return 0;
  if (answered == 0 && !shares_files) require_all();
  const double inferred = seconds_now();
  if (committed) {
    committed->write(resolve_user_path(commit_path), resolve_user_path(openings), context,
                     key_reader.fingerprint());
    print("hashing for the commitment took ", seconds_text(committed->seconds()), "\n");
  }
  if (!digests_path.empty()) write_file(resolve_user_path(digests_path), digests);
  if (shares_passes) {
    const Figures by_rank = shared->finish(), summary = shared->summary();
    print(context.describe(), "\n", by_rank.table().text(), "inferred in ", seconds_text(inferred - prepared),
          "; wrote ", out, "\n", summary.lines());
    Json json = summary.object();
    json["params"] = parameters_json(context);
    json["by_rank"] = by_rank.json();
    flags.write_json(json);
    return 0;
  }

  program::Ledger ledger(pass.plan, pass.context->scales());
  figures.predict_seconds();
  figures.fill(ledger);
  Figures run = figures.figures();
  const Figures blocks = sum_figures(ledger.summary(), "block");
  print(context.describe(), "\n", blocks.table().text(), groups == 1 ? "1 pass" : message(groups, " passes"),
        " of ", counted(static_cast<size_t>(plan.bootstraps), "bootstrap"), "; read keys ",
        seconds_text(loaded - start), ", prepared in ", seconds_text(prepared - loaded), ", inferred in ",
        seconds_text(inferred - prepared), "; wrote ", out, "\n", run.lines());
  Json json;
  json["params"] = parameters_json(context);
  json["bootstraps"] = plan.bootstraps;
  json["ledger"] = blocks.json();
  json["predicted_and_measured"] = run.object();
  run.row().cell("parameters", context.describe()).cell("seconds", "are of the last pass");
  ledger_file.write(
      {.title = "The ledger of an encrypted run, on the server", .figures = run, .ledger = ledger});
  json["seconds"]["read"] = loaded - start;
  json["seconds"]["prepare"] = prepared - loaded;
  json["seconds"]["infer"] = inferred - prepared;
  if (committed) json["seconds"]["commit"] = committed->seconds();
  json["peak_rss_bytes"] = peak_resident_bytes();
  flags.write_json(json);
  require_all();
  return 0;
}

int infer_on_ranks(int argc, char** argv) {
  const std::unique_ptr<Ranks> ranks = open_ranks();
  try {
    return infer(argc, argv, ranks.get());
  } catch (const std::exception& error) {
    if (ranks == nullptr) throw;
    const auto* own = dynamic_cast<const Error*>(&error);
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    ranks->fail(no_memory ? "out of memory" : visible(error.what()), own != nullptr ? own->exit_code() : 1);
  }
  return 1;  // not reached, which a compiler does not see through a virtual call
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::infer_on_ranks, argc, argv); }
