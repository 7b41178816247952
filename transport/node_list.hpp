// An intrusive list whose nodes leave by themselves: no allocation, and safe against destruction.
#pragma once

namespace farport::transport {

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

}  // namespace farport::transport
