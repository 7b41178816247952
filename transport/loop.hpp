// The reactor, and the order in which coroutines run on it.
//
// A turn of the loop is: poll for I/O, resume every coroutine that became ready (each once), then run the
// turn-end hooks, which write out what those coroutines left behind (so that many small frames make one
// write); again, a few times, for what has become ready by that. Coroutines are only ever resumed from here,
// never from inside a library's callback.
//
// Sockets are polled edge-triggered in an epoll set of our own: one or two system calls in a socket's life,
// where libuv's uv_poll_t takes two each time a wait begins; and timers are nodes in a tree of our
// own, since every connection has some. libuv does everything else (signals, processes, names, file
// notifications): its loop is one descriptor in that set, and runs when it has work.
#pragma once

#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <sys/epoll.h>
#include <uv.h>

#include "base/unique_fd.hpp"
#include "transport/task.hpp"

namespace farport::transport {

// An intrusive list whose nodes leave by themselves: no allocation, and safe against destruction.

/// A place in a NodeList. Leaves the list when it is destroyed, which is what makes destroying a suspended
/// coroutine safe at any moment.
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

/// First in, first out; removal from anywhere. Owns nothing.
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
  /// Puts `node` at the end, out of whatever list it was in.
  void push(ListNode& node) {
    node.unlink();
    node.previous_ = head_.previous_;
    node.next_ = &head_;
    head_.previous_->next_ = &node;
    head_.previous_ = &node;
  }
  /// Takes the first node out; nullptr when empty.
  ListNode* pop() {
    if (empty()) return nullptr;
    ListNode* first = head_.next_;
    first->unlink();
    return first;
  }
  /// Calls `action` for each node. The action may take its own node out of the list, but no other.
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

// How long something took, counted by how long, as Prometheus wants it.

/// Counts durations in buckets. Recording is two or three additions where durations are short.
class DurationHistogram {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::nanoseconds;
  using Bounds = std::span<const std::chrono::milliseconds>;

  /// `bounds`: the buckets' upper bounds, in ascending order, which belong to them; a last bucket has none.
  /// They must stay.
  explicit DurationHistogram(Bounds bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void record(Duration took) {
    std::size_t bucket = 0;
    while (bucket < bounds_.size() && took > bounds_[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += took;
  }

  [[nodiscard]] Bounds bounds() const { return bounds_; }
  /// How many fell into each bucket; those of shorter ones not included.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// All of them together.
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  Bounds bounds_;
  std::vector<std::uint64_t> counts_;
  Duration sum_{};
};

/// Records the time from its making to its end. Must not outlive the histogram.
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

/// Something that has work left for the end of the turn, such as frames to write.
class EndOfTick : public ListNode {
 public:
  virtual void end_of_tick() = 0;

 protected:
  ~EndOfTick() = default;
};

/// What has a descriptor in the loop's epoll set.
class Watched {
 public:
  /// Called with the events that came (epoll_ctl(2)), each once: edge-triggered.
  virtual void on_events(std::uint32_t events) = 0;

 protected:
  ~Watched() = default;
};

/// Something whose time comes: a Timer.
class Timed {
 public:
  /// Called once, when it has come.
  virtual void fire() = 0;

 protected:
  ~Timed() = default;
};

class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  /// Lets closing handles finish; the owners of handles must be gone by then.
  ~Loop();

  /// Runs `task` on this loop until it has finished, and returns its result; rethrows its exception.
  template <typename T>
  T run(Task<T> task);

  /// Resumes `waiter`'s coroutine in this turn or the next. Twice is once.
  void make_ready(Waiter& waiter);
  /// Calls `hook.end_of_tick()` once all ready coroutines of this turn have run. Twice is once.
  void defer(EndOfTick& hook);

  /// Tells `watched` of the descriptor's events until forget(), but for output (EPOLLOUT); what is the case
  /// already is told first. Returns 0, or why the kernel doesn't watch it: an errno value.
  [[nodiscard]] int watch(int fd, Watched& watched);
  /// Of output too, from now on: for a descriptor that is watched. Most never have to wait for that, and
  /// would only be woken whenever their peer has read something.
  [[nodiscard]] int watch_output(int fd, Watched& watched);
  /// No more events for `watched`, those included that have been polled already. Its descriptor must be
  /// closed right after, which takes it out of the epoll set (epoll(7)): none of ours has a duplicate.
  void forget(Watched& watched);

  /// What waits for its time, by when that is.
  using Timers = std::multimap<std::uint64_t, Timed*>;
  /// Makes `timed` fire after `delay`. Ends with fire() or stop_timer().
  Timers::iterator start_timer(Milliseconds delay, Timed& timed);
  void stop_timer(Timers::iterator place) { timers_.erase(place); }

  /// Counts the turns: another number, another turn.
  [[nodiscard]] std::uint64_t turn() const { return turn_; }
  /// The loop's clock in milliseconds; monotonic, updated once a turn.
  [[nodiscard]] std::uint64_t now_ms() const { return uv_now(&uv_); }
  /// The buckets' upper bounds of stalls().
  static constexpr std::array<Milliseconds, 10> kStallBounds{
      {Milliseconds(1), Milliseconds(2), Milliseconds(5), Milliseconds(10), Milliseconds(20),
       Milliseconds(50), Milliseconds(100), Milliseconds(200), Milliseconds(500), Milliseconds(1000)}};
  /// How long the turns took so far, from one poll to the next: everything else has waited that long.
  [[nodiscard]] const DurationHistogram& stalls() const { return stalls_; }
  [[nodiscard]] uv_loop_t* uv() { return &uv_; }

 private:
  static constexpr std::size_t kEventsPerPoll = 256;

  int control(int operation, int fd, Watched& watched, std::uint32_t more);
  void run_ready();
  void run_until(const bool& done);
  void poll();
  void wait_for_events();
  void fire_timers();
  [[nodiscard]] bool busy() const { return !ready_.empty() || !turn_ends_.empty(); }
  [[nodiscard]] int poll_timeout() const;

  uv_loop_t uv_{};
  uv_prepare_t keeper_{};  ///< Does nothing: without an active handle libuv says that it needs no waiting.
  UniqueFd epoll_;
  std::array<epoll_event, kEventsPerPoll> events_{};  ///< Of this poll.
  std::size_t event_count_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t turn_began_ = uv_hrtime();  ///< In nanoseconds.
  DurationHistogram stalls_{kStallBounds};
  Timers timers_;
  NodeList ready_;
  NodeList turn_ends_;
};

template <typename T>
T Loop::run(Task<T> task) {
  bool done = false;
  auto drive = [](Task<T>& work, bool& flag) -> Task<void> {
    struct Done {
      bool& flag;
      ~Done() { flag = true; }
    } const at_exit{flag};
    // Only waits: the result stays in `work`, and is taken below.
    co_await work.finished();
  };
  Task<void> driver = drive(task, done);
  driver.start();
  run_until(done);
  return task.take();
}

/// co_await next_turn(loop): lets everybody else run, then goes on. For loops that might never wait.
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

/// Deletes a libuv handle the way libuv wants it: closed first, freed in the close callback.
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
