// Loop: the reactor that runs coroutines, timers and turn-end hooks; also intrusive lists and histograms.
#pragma once

#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sys/epoll.h>
#include <uv.h>

#include "base/unique_fd.hpp"
#include "transport/task.hpp"

namespace farport::transport {

/// A node of an intrusive NodeList; linking allocates nothing. Its destructor unlinks it, which makes it safe
/// to destroy a suspended coroutine at any moment.
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  [[nodiscard]] bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 private:
  friend class NodeList;
  ListNode* previous_ = nullptr;
  ListNode* next_ = nullptr;
};

/// A first-in, first-out list; nodes can be removed from anywhere. Owns nothing.
class NodeList {
 public:
  NodeList() { head_.previous_ = head_.next_ = &head_; }
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;
  ~NodeList() {
    while (pop() != nullptr) {
    }
  }

  [[nodiscard]] bool empty() const { return head_.next_ == &head_; }
  /// Appends `node`, and removes it from the list that it was in.
  void push(ListNode& node) {
    node.unlink();
    node.previous_ = head_.previous_;
    node.next_ = &head_;
    head_.previous_->next_ = &node;
    head_.previous_ = &node;
  }
  /// Removes the first node and returns it; nullptr when empty.
  ListNode* pop() {
    if (empty()) return nullptr;
    ListNode* first = head_.next_;
    first->unlink();
    return first;
  }
  /// Calls `action` for each node. The action may unlink its own node, but no other.
  template <typename Action>
  void for_each(Action action) {
    for (ListNode* node = head_.next_; node != &head_;) {
      ListNode* next = node->next_;
      action(*node);
      node = next;
    }
  }
  /// Moves all nodes of `other` to the end of this list.
  void take(NodeList& other) {
    while (ListNode* node = other.pop()) push(*node);
  }

 private:
  ListNode head_;
};

/// A histogram of durations, as Prometheus expects one. Recording is cheap: two or three additions for short
/// durations.
class DurationHistogram {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::nanoseconds;
  using Bounds = std::span<const std::chrono::milliseconds>;

  /// `bounds`: inclusive upper bounds of the buckets, ascending. One more bucket has no bound. The span must
  /// outlive this.
  explicit DurationHistogram(Bounds bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void record(Duration took) {
    std::size_t bucket = 0;
    while (bucket < bounds_.size() && took > bounds_[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += took;
  }

  [[nodiscard]] Bounds bounds() const { return bounds_; }
  /// The count of each bucket, not cumulative.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// The sum of all durations.
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  Bounds bounds_;
  std::vector<std::uint64_t> counts_;
  Duration sum_{};
};

/// Records how long it existed. Must not outlive the histogram.
class RecordedTime {
 public:
  explicit RecordedTime(DurationHistogram& histogram) : histogram_(histogram) {}
  RecordedTime(const RecordedTime&) = delete;
  RecordedTime& operator=(const RecordedTime&) = delete;
  ~RecordedTime() { histogram_.record(DurationHistogram::Clock::now() - began_); }

 private:
  DurationHistogram& histogram_;
  DurationHistogram::Clock::time_point began_ = DurationHistogram::Clock::now();
};

using Milliseconds = std::chrono::milliseconds;

/// A suspended coroutine that waits for its turn.
struct Waiter : ListNode {
  std::coroutine_handle<> coroutine;
};

/// A hook for the end of the turn, such as to write frames that have collected.
class TurnEndHook : public ListNode {
 public:
  virtual void end_of_tick() = 0;

 protected:
  ~TurnEndHook() = default;
};

/// The owner of a descriptor in the loop's epoll set.
class FdListener {
 public:
  /// Called with new events (epoll_ctl(2)), edge-triggered: each is reported once.
  virtual void on_events(std::uint32_t events) = 0;

 protected:
  ~FdListener() = default;
};

class Timer;

/// A turn of the loop polls for I/O, resumes every coroutine that became ready (each once), then runs the
/// turn-end hooks, which write out what those coroutines left behind, so that many small frames make one
/// write. It repeats this a few times for what became ready meanwhile. Coroutines are resumed from here only,
/// never from inside a library's callback.
///
/// Sockets are polled edge-triggered in an epoll set of the loop's own: one or two system calls in a socket's
/// life, where libuv's uv_poll_t takes two for each wait. Timers are nodes in a tree of its own, since every
/// connection has some. libuv does the rest (signals, names, file notifications): its loop is one
/// descriptor in that set, and runs when it has work.
class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  /// Waits until closing handles are closed. The owners of handles must be gone by then.
  ~Loop();

  /// Runs the loop until `task` has finished. Returns its result or rethrows its exception.
  template <typename T>
  T run(Task<T> task);

  /// Resumes `waiter`'s coroutine in this turn or the next. A second call before that has no effect.
  void make_ready(Waiter& waiter);
  /// Calls `hook.end_of_tick()` once all ready coroutines of this turn have run. A second call before that
  /// has no effect.
  void defer(TurnEndHook& hook);

  /// Reports the descriptor's events to `listener` until forget(), except for output (EPOLLOUT). Events that
  /// are pending already are reported first. Returns 0, or the errno value of epoll_ctl(2).
  [[nodiscard]] int watch(int fd, FdListener& listener);
  /// Also reports output events of a watched descriptor. Not done from the start: most descriptors never have
  /// to wait for output and would be woken whenever their peer reads.
  [[nodiscard]] int watch_output(int fd);
  /// Reports no more events of this descriptor, not even those already polled. The caller must close it right
  /// after, which removes it from the epoll set once no child that is being started has a copy (epoll(7)).
  void forget(int fd);

  /// Running timers by expiry time, on the loop's clock in milliseconds.
  using Timers = std::multimap<std::uint64_t, Timer*>;
  /// Fires `timer` after `delay`, unless stop_timer() comes first. The returned place is valid until either.
  Timers::iterator start_timer(Milliseconds delay, Timer& timer);
  void stop_timer(Timers::iterator place) { timers_.erase(place); }

  /// The number of this turn.
  [[nodiscard]] std::uint64_t turn() const { return turn_; }
  /// The loop's clock in milliseconds; monotonic, updated once a turn.
  [[nodiscard]] std::uint64_t now_ms() const { return uv_now(&uv_); }
  /// The buckets' upper bounds of stalls().
  static constexpr std::array<Milliseconds, 10> kStallBounds{
      {Milliseconds(1), Milliseconds(2), Milliseconds(5), Milliseconds(10), Milliseconds(20),
       Milliseconds(50), Milliseconds(100), Milliseconds(200), Milliseconds(500), Milliseconds(1000)}};
  /// How long the turns took so far, from one poll to the next. Everything else waits for that long.
  [[nodiscard]] const DurationHistogram& stalls() const { return stalls_; }
  [[nodiscard]] uv_loop_t* uv() { return &uv_; }

 private:
  static constexpr std::size_t kEventsPerPoll = 256;

  /// Who is told of a descriptor's events. The descriptors before it that had its number were other
  /// generations: what the epoll set still says of those concerns nobody.
  struct Watched {
    FdListener* listener = nullptr;
    std::uint32_t generation = 0;
  };

  int control(int operation, int fd, std::uint32_t more);
  [[nodiscard]] FdListener* listener_of(std::uint64_t key) const;
  void run_ready();
  void run_until(const bool& done);
  void poll();
  /// What the next poll says. Valid until the one after it.
  std::span<const epoll_event> wait_for_events();
  void fire_timers();
  [[nodiscard]] bool busy() const { return !ready_.empty() || !turn_ends_.empty(); }
  [[nodiscard]] int poll_timeout() const;

  uv_loop_t uv_{};
  uv_prepare_t keep_alive_{};  ///< Does nothing. Without an active handle libuv reports nothing to wait for.
  UniqueFd epoll_;
  std::vector<Watched> watched_;                      ///< By descriptor.
  std::array<epoll_event, kEventsPerPoll> events_{};  ///< Of the latest poll.
  std::uint64_t turn_ = 0;
  std::uint64_t turn_began_ = uv_hrtime();  ///< In nanoseconds.
  DurationHistogram stalls_{kStallBounds};
  Timers timers_;
  NodeList ready_;
  NodeList turn_ends_;
};

/// Fires once, from the loop, unless it is stopped or destroyed before.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(Milliseconds delay) { place_ = loop_.start_timer(delay, *this); }
  void stop() {
    if (place_) loop_.stop_timer(*std::exchange(place_, std::nullopt));
  }
  /// Called by the loop when the time has come.
  void fire() {
    place_.reset();
    on_time();
  }

 protected:
  ~Timer() { stop(); }
  virtual void on_time() = 0;
  Loop& loop_;

 private:
  std::optional<Loop::Timers::iterator> place_;
};

template <typename T>
T Loop::run(Task<T> task) {
  bool done = false;
  auto drive = [](Task<T>& work, bool& flag) -> Task<void> {
    struct Done {
      bool& flag;
      ~Done() { flag = true; }
    } const at_exit{flag};
    // Waits only; the result stays in `work` and is taken below.
    co_await work.finished();
  };
  Task<void> driver = drive(task, done);
  driver.start();
  run_until(done);
  return task.take();
}

/// co_await next_turn(loop): lets all others run first. For loops that might otherwise never wait.
class [[nodiscard]] NextTurn {
 public:
  explicit NextTurn(Loop& loop) : loop_(loop) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waiter_.coroutine = coroutine;
    loop_.make_ready(waiter_);
  }
  void await_resume() const noexcept {}

 private:
  Loop& loop_;
  Waiter waiter_;
};
[[nodiscard]] inline NextTurn next_turn(Loop& loop) {
  return NextTurn(loop);
}

/// Deletes a libuv handle as libuv requires: closed first, freed in the close callback.
template <typename Handle>
struct HandleCloser {
  void operator()(Handle* handle) const {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
};
/// An owned libuv handle. Initialise the object made with `new` before wrapping it.
template <typename Handle>
using OwnedHandle = std::unique_ptr<Handle, HandleCloser<Handle>>;

}  // namespace farport::transport
