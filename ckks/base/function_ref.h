// A reference to something callable, for a parameter that is called before the function returns. It owns nothing and
// allocates nothing (std::function_ref, P0792), and it needs no large header.
#pragma once

#include <type_traits>

namespace psm {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Args...>)
      FunctionRef(F&& f)  // NOLINT: a lambda is given as it stands
      : callee_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* callee, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(callee))(static_cast<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(callee_, static_cast<Args>(args)...); }

 private:
  void* callee_;
  Result (*call_)(void*, Args...);
};

}  // namespace psm
