#include "cmd/reports/ranks_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/program/ranks/rank_plan.h"
#include "cmd/terminal/html.h"
#include "cmd/terminal/svg_plot.h"

namespace psm::cmd {
namespace {

using program::Opcode;
using program::Schedule;
using program::Task;

constexpr int kMostRanks = 64;

// What more ranks would not make shorter.
const char* limit_of(const Schedule& s) {
  if (s.critical_path > 0.9 * s.seconds) return "critical path";
  const std::vector<double> busy = s.busy();
  return *std::max_element(busy.begin(), busy.end()) > 0.9 * s.seconds ? "computing"
                                                                       : "critical path and link";
}

double sent_bytes(const Schedule& s, int rank = -1) {
  double bytes = 0;
  for (const program::Transfer& transfer : s.transfers)
    if (rank == -1 || transfer.from == rank) bytes += static_cast<double>(transfer.bytes);
  return bytes;
}

Figures count_figures(const program::Plan& plan, const program::CostModel& costs,
                      program::ScheduleOptions options, program::KnownParts& known) {
  Figures figures({"limited by"});
  options.ranks = kMostRanks;
  double alone = 0;
  program::for_each_schedule(plan, costs, options, known, [&](const Schedule& s) {
    if (s.ranks == 1) alone = s.seconds;
    figures.row()
        .both("ranks", "ranks", s.ranks)
        .number("seconds", "a pass", s.seconds, seconds_text)
        .number("speedup", "times as fast", s.seconds > 0 ? alone / s.seconds : 1, "%.2f")
        .number("critical_seconds", "critical path", s.critical_path, seconds_text)
        .number("critical_bootstrap_share", "in bootstraps",
                s.critical_path > 0 ? s.critical_bootstraps / s.critical_path : 0, percent)
        .number("sent_bytes", "sent", sent_bytes(s), bytes_text)
        .both("limit", "limited by", limit_of(s));
  });
  return figures;
}

Figures rank_figures(const program::Plan& plan, const program::CostModel& costs,
                     const program::ScheduleOptions& options, const Schedule& s) {
  Figures figures;
  const std::vector<double> busy = s.busy();
  for (int rank = 0; rank < options.ranks; ++rank) {
    const program::Plan own = program::rank_plan(plan, s, options, rank, costs.chain()).plan;
    const program::MeterReading reading = program::meter(own, costs);
    const double seconds = busy[static_cast<size_t>(rank)];
    figures.row()
        .both("rank", "rank", rank)
        .both("instructions", "instructions", static_cast<int64_t>(own.program.instructions.size()))
        .both("bootstraps", "bootstraps", own.bootstraps)
        .number("seconds", "computing", seconds, seconds_text)
        .number("share", "of a pass", s.seconds > 0 ? seconds / s.seconds : 0, percent)
        .number("sent_bytes", "sends", sent_bytes(s, rank), bytes_text)
        .both("keys", "keys", static_cast<int64_t>(reading.keys.count(costs.chain())))
        .number("key_bytes", "bytes of keys", reading.key_bytes, bytes_text)
        .number("run_bytes", "working memory", reading.run_bytes(), bytes_text);
  }
  return figures;
}

// A lane for each rank, from the left to the right in time. Neighbours of one colour are one box.
std::string lanes(const Schedule& s) {
  constexpr double kWidth = 1000, kLeft = 60, kHeight = 24;
  static constexpr std::pair<const char*, const char*> kColours[] = {
      {"bootstrap", "#d55e00"}, {"map", "#0072b2"}, {"other", "#009e73"}};
  const auto kind_of = [](Opcode opcode) {
    return opcode == Opcode::kBootstrap ? 0 : opcode == Opcode::kLinear ? 1 : 2;
  };
  struct Box {
    int kind = -1;
    double from = 0, to = 0;
    std::string label;
  };
  std::string out;
  const auto rectangle = [&](int rank, const Box& box) {
    if (box.kind < 0) return;
    out += message("<rect x=\"", format("%.2f", kLeft + kWidth * box.from / s.seconds), "\" y=\"",
                   rank * (kHeight + 6), "\" width=\"",
                   format("%.2f", std::max(0.3, kWidth * (box.to - box.from) / s.seconds)), "\" height=\"",
                   kHeight, "\" fill=\"", kColours[box.kind].second, "\"><title>", xml_escape(box.label),
                   "</title></rect>");
  };
  for (int rank = 0; rank < s.ranks; ++rank) {
    out += message("<text x=\"0\" y=\"", rank * (kHeight + 6) + 17, "\" fill=\"currentColor\">rank ", rank,
                   "</text>");
    Box box;
    for (const Task& task : s.tasks) {
      if (task.rank != rank || task.seconds == 0) continue;
      const int kind = kind_of(task.part.opcode);
      if (kind != box.kind || task.start - box.to > 1e-3 * s.seconds) {
        rectangle(rank, box);
        box = {kind, task.start, task.end(), program::describe(task.part)};
      }
      box.to = task.end();
    }
    rectangle(rank, box);
  }
  std::string legend;
  for (const auto& [name, colour] : kColours)
    legend += message(" <span style=\"color:", colour, "\">&#9632;</span> ", name);
  return message("<svg viewBox=\"0 0 ", kLeft + kWidth, " ", s.ranks * (kHeight + 6),
                 "\" width=\"100%\" font-size=\"14\">", out, "</svg><p>", seconds_text(s.seconds), legend,
                 "</p>\n");
}

}  // namespace

RanksFlags::RanksFlags(Command& flags)
    : ranks(flags.integer("ranks", 0, 0, 1024,
                          "predict passes on 1 to 64 ranks of mpirun, and what each of this many would do")),
      network(
          flags.text("link", "",
                     "what is between the ranks: its speed, with the latency if known (2us,40GbE); else both "
                     "10GbE and 100GbE are predicted")) {
  flags.when_read([this] {
    if (!network.empty()) program::parse_link(network);  // before anything is timed
  });
}

RanksReport::RanksReport(const ShownProgram& shown, const RanksFlags& flags, bool measured) {
  if (flags.ranks == 0) return;
  std::vector<program::ScheduleOptions> chosen;  // one for each link; the first is drawn
  for (const char* link :
       flags.network.empty() ? std::vector{"10GbE", "100GbE"} : std::vector{flags.network.c_str()})
    chosen.push_back({.ranks = static_cast<int>(flags.ranks), .link = program::parse_link(link)});
  std::vector<std::pair<std::string, program::KernelSeconds>> machines = {{shown.machine, shown.kernels}};
  if (measured) {
    const int threads = thread_count();
    const auto timed = [&](int count) {
      set_thread_count(count);
      return program::calibrate(*shown.program.context).kernels;
    };
    const program::KernelSeconds one = timed(1), two = timed(2);
    set_thread_count(threads);
    machines.clear();
    for (const int cores : {2, 16})
      machines.emplace_back(message(cores, " cores each"), program::at_threads(one, two, cores));
  }
  for (const ShownEntry& entry : shown.entries) {
    const std::string& name = entry.point->name;
    const program::Plan& plan = entry.point->plan;
    std::string tables;
    SvgFigure figure("Several ranks");
    SvgPanel& panel = figure.panel("as fast as one", "ranks", "times");
    panel.x_log = panel.y_log = true;
    const auto add = [&](const std::string& key, const std::string& title, const Figures& figures,
                         bool plotted) {
      const Json rows = figures.json();
      text += message("\n", name, ": ", title, "\n", figures.table().text());
      json[name][key] = Json::Object{{"of", title}, {"rows", rows}};
      tables += html_of(figures.table(), title);
      if (!plotted) return;
      PlotPoints points;
      for (const Json& row : rows.array(key))
        points.emplace_back(row.at("ranks", key).number(key), row.at("speedup", key).number(key));
      panel.line(title, std::move(points));
    };
    size_t links = 0;
    program::KnownParts known;
    for (const auto& [machine, kernels] : machines) {
      const program::CostModel costs = shown.costs_with(kernels);
      for (const program::ScheduleOptions& options : chosen)
        add(message("ranks_", links++),
            message("ranks of ", machine, ", latency ", format("%.0f us, ", 1e6 * options.link.latency),
                    bytes_text(options.link.bandwidth), "/s"),
            count_figures(plan, costs, options, known), true);
    }
    const auto& [machine, kernels] = machines.front();
    const program::CostModel costs = shown.costs_with(kernels);
    const Schedule s = program::schedule(plan, costs, chosen.front());
    add("by_rank", message(chosen.front().ranks, " ranks of ", machine),
        rank_figures(plan, costs, chosen.front(), s), false);
    html += html_tagged("h2", name + " on several ranks") + "\n" + lanes(s) + figure.text() + tables;
  }
}

}  // namespace psm::cmd
