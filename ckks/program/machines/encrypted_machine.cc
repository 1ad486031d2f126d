#include "ckks/program/machines/encrypted_machine.h"

#include <algorithm>
#include <deque>

#include "ckks/base/clock.h"
#include "ckks/base/error.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/poly/evaluate_series.h"

namespace psm::program {
namespace {

void require_data(const Plan& plan) {
  for (const Instruction& instruction : plan.program.instructions) {
    bool complete = instruction.plain.period() == 0 || instruction.plain.has_data();
    if (instruction.linear)
      for (const ckks::TransformTerm& term : instruction.linear->terms)
        complete = complete && term.weight.has_data();
    if (!complete)
      throw Error(message(describe(instruction),
                          ": its weights have a shape but no values; run a model, meter a shape"));
  }
}

}  // namespace

struct EncryptedMachine::Cache {
  using Key =
      std::pair<ckks::Plain::Identity, int>;  // the vector and the level; the plan keeps the vector alive
  std::map<Key, ckks::Plaintext> plaintexts;
  std::vector<int> kept_transforms;  // by instruction, as the plan has them
  std::map<int, std::unique_ptr<ckks::EncodedTransform>> transforms;
  std::map<size_t, ckks::SeriesPlan> series;  // by instruction
  size_t bytes = 0;
};

// One run: the values that are alive.
class EncryptedMachine::Run {
 public:
  Run(EncryptedMachine& machine, const RunOptions& options)
      : machine_(machine),
        plan_(machine.plan_),
        evaluator_(machine.evaluator_),
        context_(machine.evaluator_.context()),
        options_(options),
        constants_(exchanged(machine.plan_.program, options.constants)),
        values_(machine.plan_.level.size()) {
    find_shared();
    result_.seconds.resize(plan_.program.instructions.size());
    result_.encode_seconds.resize(plan_.program.instructions.size());
  }

  void load(const std::map<std::string, ckks::Ciphertext>& inputs) {
    for (size_t i = 0; i < plan_.program.inputs.size(); ++i) {
      const NamedValue& input = plan_.program.inputs[i];
      if (shared_.contains(input.value.id)) continue;
      const auto found = inputs.find(input.name);
      if (found == inputs.end() && options_.receive) continue;
      if (found == inputs.end())
        throw Error(message("input '", input.name, "' is missing; encrypt and send it"));
      const ckks::Level level = found->second.level(), needed = plan_.input_levels[i];
      if (level < needed)
        throw Error(message("input '", input.name, "' is at level ", level, " but the plan needs ", needed,
                            "; encrypt it at that level"));
      store(input.value, memory() == nullptr ? evaluator_.drop_to_level(found->second, needed)
                                             : evaluator_.drop_to_level(found->second.in(memory()), needed));
    }
  }

  void load(RunState checkpoint) {
    if (checkpoint.next_instruction > plan_.program.instructions.size())
      throw Error("a checkpoint beyond the end of the program; it belongs to another plan");
    std::vector<Value> expected;
    if (checkpoint.next_instruction > 0) expected = live_after(plan_, checkpoint.next_instruction - 1);
    for (auto& [value, ciphertext] : checkpoint.live) {
      if (std::find(expected.begin(), expected.end(), value) == expected.end() ||
          ciphertext.level() != plan_.level[id(value)] ||
          ciphertext.scale() != context_.scale(ciphertext.level()))
        throw Error(message("value ", value.id,
                            " of the checkpoint does not fit the plan; it belongs to another one"));
      store(value, memory() == nullptr ? std::move(ciphertext) : ciphertext.in(memory()));
    }
    for (Value value : expected)
      if (value_of(value).c[0].empty())
        throw Error(message("the checkpoint lacks value ", value.id,
                            "; it is incomplete or belongs to another plan"));
    index_ = checkpoint.next_instruction;
    if (!options_.receive)
      require_resumable(plan_, index_, [&](Value value) { return shared_.contains(value.id); });
  }

  void prepare() {
    for (; index_ < plan_.program.instructions.size(); ++index_) {
      instruction_ = &plan_.program.instructions[index_];
      const ckks::Level level = plan_.argument_level[index_];
      if (instruction_->opcode == Opcode::kLinear) {
        kept_transform(level);
      } else if (instruction_->opcode == Opcode::kSeries) {
        series_plan(level);
      } else if (instruction_->plain.period() > 1 && has_room()) {
        with_encoded(instruction_->plain, level, [](const ckks::Plaintext&) {});
      }
    }
  }

  RunResult execute() {
    const size_t total = plan_.program.instructions.size();
    for (; index_ < total; ++index_) {
      const auto constant = constants_.find(index_);
      is_exchanged_ = constant != constants_.end();
      instruction_ = is_exchanged_ ? &constant->second : &plan_.program.instructions[index_];
      const double start = seconds_now();
      try {
        step();
      } catch (const Error& error) {
        throw Error(message("instruction ", index_, ", ", describe(*instruction_), ": ", error.what()),
                    error.kind());
      }
      if (options_.waits) evaluator_.engine().wait();
      result_.seconds[index_] = seconds_now() - start;
      downloaded_.clear();
      if (options_.observe)
        for (Value value : instruction_->results) options_.observe(index_, value, on_host(value));
      for (Value value : plan_.last_use[index_]) release(value);
      if (options_.checkpoint &&
          std::binary_search(options_.checkpoint_after.begin(), options_.checkpoint_after.end(), index_))
        hand_out_checkpoint();
      if (options_.progress) options_.progress(index_ + 1, total);
    }
    for (const NamedValue& output : plan_.program.outputs)
      result_.outputs[output.name] = value_of(output.value).in(nullptr);
    return std::move(result_);
  }

 private:
  void find_shared() {
    if (machine_.options_.shared_inputs == nullptr) return;
    for (size_t i = 0; i < plan_.program.inputs.size(); ++i) {
      const NamedValue& input = plan_.program.inputs[i];
      const auto found = machine_.options_.shared_inputs->find(input.name);
      if (found == machine_.options_.shared_inputs->end()) continue;
      if (found->second.level() != plan_.input_levels[i])
        throw Error(message("input '", input.name, "' is at level ", found->second.level(),
                            " but the plan needs just ", plan_.input_levels[i],
                            "; encrypt it at that level"));
      shared_[input.value.id] = &found->second;
    }
  }

  const ckks::Ciphertext& value_of(Value value) const {
    const auto shared = shared_.find(value.id);
    return shared == shared_.end() ? values_[id(value)] : *shared->second;
  }

  void store(Value value, ckks::Ciphertext ciphertext) {
    PSM_CHECK(ciphertext.level() == plan_.level[id(value)], "value ", value.id, " at level ",
              ciphertext.level(), " instead of ", plan_.level[id(value)]);
    PSM_CHECK(ciphertext.scale() == context_.scale(ciphertext.level()), "value ", value.id, " has the scale ",
              ciphertext.scale());
    values_[id(value)] = std::move(ciphertext);
  }
  void store(size_t result, ckks::Ciphertext ciphertext) {
    store(instruction_->results[result], std::move(ciphertext));
  }

  void release(Value value) {
    values_[id(value)] = ckks::Ciphertext();
    for (auto at = lowered_.lower_bound({value.id, 0}); at != lowered_.end() && at->first.first == value.id;)
      at = lowered_.erase(at);
  }

  const ckks::Ciphertext& argument(size_t i) {
    return at_level(instruction_->arguments[i], plan_.argument_level[index_]);
  }

  const ckks::Ciphertext& at_level(Value value, ckks::Level level) {
    const ckks::Ciphertext& whole = value_of(value);
    const bool elsewhere = whole.memory() != memory();  // a shared input, on its way to a device
    if (whole.level() == level && !elsewhere) return whole;
    const auto [found, is_new] = lowered_.try_emplace({value.id, level});
    if (is_new)
      found->second = elsewhere ? evaluator_.drop_to_level(whole.in(memory()), level)
                                : evaluator_.drop_to_level(whole, level);
    return found->second;
  }

  Memory* memory() const { return evaluator_.engine().memory(); }

  // A value for whoever looks at it from outside, until the next instruction.
  const ckks::Ciphertext& on_host(Value value) {
    const ckks::Ciphertext& whole = value_of(value);
    if (whole.memory() == nullptr) return whole;
    return downloaded_[value.id] = whole.in(nullptr);
  }

  void hand_out_checkpoint() {
    std::vector<std::pair<Value, const ckks::Ciphertext*>> live;
    for (Value value : live_after(plan_, index_))
      if (!shared_.contains(value.id)) live.emplace_back(value, &on_host(value));
    options_.checkpoint(index_ + 1, live);
  }

  bool has_room() const { return machine_.cache_->bytes < machine_.options_.encoded_bytes; }

  // At the canonical scale of the level: a product with it is canonical again after the rescale.
  template <typename Use>
  void with_encoded(const ckks::Plain& plain, ckks::Level level, const Use& use) {
    const auto encode = [&] {
      const double start = seconds_now();
      ckks::Plaintext encoded = machine_.encoder_.encode(plain.values(), level);
      result_.encode_seconds[index_] += seconds_now() - start;
      return encoded;
    };
    if (is_exchanged_) return use(encode());
    Cache& cache = *machine_.cache_;
    const Cache::Key key{plain.identity(), level};
    if (const auto found = cache.plaintexts.find(key); found != cache.plaintexts.end())
      return use(found->second);
    ckks::Plaintext encoded = encode();
    use(encoded);
    if (cache.bytes + encoded.bytes() > machine_.options_.encoded_bytes) return;
    cache.bytes += encoded.bytes();
    cache.plaintexts.emplace(key, std::move(encoded));
  }

  void step() {
    const ckks::Level level = plan_.argument_level[index_];
    switch (instruction_->opcode) {
      case Opcode::kInput:
        return receive();
      case Opcode::kAdd:
        return store(0, evaluator_.add(argument(0), argument(1)));
      case Opcode::kSubtract:
        return store(0, evaluator_.sub(argument(0), argument(1)));
      case Opcode::kNegate:
        return store(0, evaluator_.negate(argument(0)));
      case Opcode::kTimesI:
        return store(0, evaluator_.multiply_by_i(argument(0)));
      case Opcode::kAddPlain:
        if (instruction_->plain.period() == 1)
          return store(0, evaluator_.add_scalar(argument(0), instruction_->plain.at(0)));
        return with_encoded(instruction_->plain, level, [&](const ckks::Plaintext& p) {
          store(0, evaluator_.add_plain(argument(0), p));
        });
      case Opcode::kMultiplyPlain: {
        ckks::Ciphertext product;
        if (instruction_->plain.period() == 1)
          product = evaluator_.multiply_scalar(argument(0), instruction_->plain.at(0));
        else
          with_encoded(instruction_->plain, level, [&](const ckks::Plaintext& p) {
            product = evaluator_.multiply_plain(argument(0), p);
          });
        return store(0, evaluator_.rescale(product));
      }
      case Opcode::kMultiply:
        return store(0, evaluator_.multiply_rescale(argument(0), argument(1)));
      case Opcode::kSumOfProducts:
        if (sums_.empty()) sum_products(level);
        store(0, evaluator_.relinearise_rescale(sums_.front()));
        return sums_.pop_front();
      case Opcode::kRotate:
        return rotate();
      case Opcode::kSumOfRotations: {
        std::vector<ckks::GaloisElement> elements{1};
        for (const int offset : instruction_->offsets)
          elements.push_back(ckks::galois_element(evaluator_.context(), offset));
        return store(0, evaluator_.sum_galois(argument(0), elements));
      }
      case Opcode::kConjugate:
        return store(0, evaluator_.conjugate(argument(0)));
      case Opcode::kLinear:
        return linear(level);
      case Opcode::kSeries:
        return store(0, ckks::evaluate_series(evaluator_, series_plan(level), argument(0)));
      case Opcode::kBootstrap:
        return bootstrap();
      case Opcode::kRefresh:
        break;
    }
    refuse_opcode("encrypted machine", instruction_->opcode);
  }

  // An input that was not there at the start.
  void receive() {
    const Value value = instruction_->results[0];
    if (!value_of(value).c[0].empty()) return;
    ckks::Ciphertext received = options_.receive(value);
    store(value, memory() == nullptr ? std::move(received) : received.in(memory()));
  }

  // The sum of this instruction, and those that are made with it.
  void sum_products(ckks::Level level) {
    std::vector<std::vector<ckks::Factors>> sums(sums_together(plan_, index_));
    for (size_t i = 0; i < sums.size(); ++i) {
      const Instruction& next = plan_.program.instructions[index_ + i];
      std::vector<ckks::Factors>& factors = sums[i];
      for (size_t k = 0; k < next.arguments.size(); k += 2)
        factors.push_back({&at_level(next.arguments[k], level), &at_level(next.arguments[k + 1], level)});
    }
    for (ckks::ProductCiphertext& sum : evaluator_.sums_of_products(sums)) sums_.push_back(std::move(sum));
  }

  void rotate() {
    if (instruction_->offsets.size() == 1)
      return store(0, evaluator_.rotate(argument(0), instruction_->offsets[0]));
    const ckks::Ciphertext& source = argument(0);
    const ckks::Hoisted hoisted = evaluator_.hoist(source);
    for (size_t i = 0; i < instruction_->offsets.size(); ++i)
      store(i, evaluator_.rotate(hoisted, instruction_->offsets[i]));
  }

  // The encoded transform of this instruction; null if it is not kept.
  const ckks::EncodedTransform* kept_transform(ckks::Level level) {
    Cache& cache = *machine_.cache_;
    const int first = cache.kept_transforms[index_];
    if (first < 0) return nullptr;
    std::unique_ptr<ckks::EncodedTransform>& encoded = cache.transforms[first];
    if (!encoded) {
      const double start = seconds_now();
      encoded =
          std::make_unique<ckks::EncodedTransform>(context_, machine_.encoder_, *instruction_->linear, level,
                                                   context_.scale(level), context_.scale(level - 1));
      result_.encode_seconds[index_] += seconds_now() - start;
      cache.bytes += encoded->bytes();
    }
    return encoded.get();
  }

  void linear(ckks::Level level) {
    std::vector<const ckks::Ciphertext*> inputs;
    for (size_t i = 0; i < instruction_->arguments.size(); ++i) inputs.push_back(&argument(i));
    const ckks::EncodedTransform* const kept = kept_transform(level);
    std::vector<ckks::Ciphertext> outputs =
        kept != nullptr ? kept->apply(evaluator_, inputs)
                        : ckks::encode_and_apply(context_, machine_.encoder_, *instruction_->linear, level,
                                                 context_.scale(level), context_.scale(level - 1), evaluator_,
                                                 inputs, result_.encode_seconds[index_]);
    for (size_t i = 0; i < outputs.size(); ++i) store(i, std::move(outputs[i]));
  }

  const ckks::SeriesPlan& series_plan(ckks::Level level) {
    const auto [found, is_new] = machine_.cache_->series.try_emplace(index_);
    if (is_new) found->second = plan_on_primes(*instruction_->series, level, context_);
    return found->second;
  }

  // One value, or a + i b of two.
  ckks::Ciphertext packed() {
    if (instruction_->arguments.size() == 1) return argument(0).clone();
    ckks::Ciphertext sum = evaluator_.multiply_by_i(argument(1));
    evaluator_.add_inplace(sum, argument(0));
    return sum;
  }

  void bootstrap() {
    using Recombine = ckks::BootstrapPlan::Recombine;
    const ckks::Bootstrapper& bootstrapper = machine_.bootstrappers_->at(instruction_->bootstrap);
    const bool pair = instruction_->arguments.size() == 2;
    const bool real = plan_.program.values[id(instruction_->arguments[0])].is_real;
    std::vector<ckks::Ciphertext> fresh;
    if (instruction_->step == BootstrapStep::kParts) {
      fresh = bootstrapper.parts(evaluator_, packed());
    } else if (instruction_->step == BootstrapStep::kEvalMod) {
      fresh.push_back(bootstrapper.plan().eval_mod().apply(evaluator_, argument(0).clone()));
    } else if (instruction_->step == BootstrapStep::kJoin) {
      fresh.push_back(packed());
    } else {
      const Recombine how = pair ? Recombine::kParts : real ? Recombine::kReal : Recombine::kWhole;
      fresh = bootstrapper.apply(evaluator_, packed(), how);
    }
    for (size_t i = 0; i < fresh.size(); ++i)
      store(i, evaluator_.drop_to_level(fresh[i], plan_.level[id(instruction_->results[i])]));
  }

  EncryptedMachine& machine_;
  const Plan& plan_;
  const ckks::Evaluator& evaluator_;
  const ckks::Context& context_;
  const RunOptions& options_;
  const std::map<size_t, Instruction> constants_;  // of this run, by place
  std::vector<ckks::Ciphertext> values_;
  std::map<int, const ckks::Ciphertext*> shared_;
  std::map<std::pair<int, int>, ckks::Ciphertext> lowered_;  // (value, level)
  std::map<int, ckks::Ciphertext> downloaded_;
  std::deque<ckks::ProductCiphertext> sums_;  // of this instruction and the next ones
  RunResult result_;
  size_t index_ = 0;
  const Instruction* instruction_ = nullptr;
  bool is_exchanged_ = false;
};

EncryptedMachine::EncryptedMachine(const Plan& plan, const ckks::Encoder& encoder,
                                   const ckks::Evaluator& evaluator, const ckks::Bootstrappers* bootstrappers,
                                   MachineOptions options)
    : plan_(plan),
      encoder_(encoder),
      evaluator_(evaluator),
      bootstrappers_(bootstrappers),
      options_(options),
      cache_(std::make_unique<Cache>()) {
  require_data(plan);
  require_offers();
  cache_->kept_transforms = kept_transforms(plan, evaluator.context().chain(), options_.encoded_bytes);
}

// All levels and keys, now rather than at the first bootstrap, which may be hours away.
void EncryptedMachine::require_offers() const {
  const ckks::Context& context = evaluator_.context();
  if (plan_.program.slots != static_cast<size_t>(context.slots()))
    throw Error(message("a plan for ", plan_.program.slots, " slots on a ring of ", context.slots(),
                        "; plan for these parameters"));
  for (size_t i = 0; i < plan_.program.instructions.size(); ++i) {
    const Instruction& instruction = plan_.program.instructions[i];
    if (plan_.argument_level[i] > context.max_level())
      throw Error(message(describe(instruction), " is planned at level ", plan_.argument_level[i], " of ",
                          context.max_level(), "; plan for these parameters"));
    if (instruction.opcode != Opcode::kBootstrap) continue;
    ckks::Level highest = 0;
    for (Value result : instruction.results) highest = std::max(highest, plan_.level[id(result)]);
    const auto offers = [&](const ckks::BootstrapPlan& plan) {
      if (instruction.step != BootstrapStep::kWhole) return !plan.kind().sparse();
      return plan_.argument_level[i] == plan.entry_level() && highest <= plan.output_level();
    };
    if (bootstrappers_ == nullptr || !bootstrappers_->contains(instruction.bootstrap) ||
        !offers(bootstrappers_->at(instruction.bootstrap).plan()))
      throw Error(message("the plan has ", plan_.bootstraps, " bootstraps, one of ",
                          instruction.bootstrap.text(), " from level ", plan_.argument_level[i], " to ",
                          highest, ", which these parameters do not offer; plan for them"));
  }
  const auto require = [&](const ckks::KeyRequest& request) {
    for (const ckks::KeyName& key : request.keys(context.chain()))
      evaluator_.require_key(key.role, key.element, key.level);
  };
  require(plan_.keys);
  for (const ckks::BootstrapKind& kind : bootstrap_kinds(plan_))
    require(bootstrappers_->at(kind).plan().key_request());
}

EncryptedMachine::~EncryptedMachine() = default;

void EncryptedMachine::prepare() {
  const RunOptions options;
  Run(*this, options).prepare();
}

RunResult EncryptedMachine::run(const std::map<std::string, ckks::Ciphertext>& inputs,
                                const RunOptions& options) {
  Run run(*this, options);
  run.load(inputs);
  return run.execute();
}

RunResult EncryptedMachine::resume(RunState checkpoint, const RunOptions& options) {
  Run run(*this, options);
  run.load(std::move(checkpoint));
  return run.execute();
}

size_t EncryptedMachine::encoded_bytes() const { return cache_->bytes; }

}  // namespace psm::program
