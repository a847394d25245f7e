//! What an operator orders of nodes, given to any of them: the asked one looks whether it can be done, writes it into the audit of the
//! site, and sees to it that it is done.

use std::sync::Arc;

use archive::{
    Action, By, ClusterStanding, Curator, DirectoryError, Fault, NodeOrder, NodeStanding, NodeState, Nodes, SharedUse,
};
use shared::{CacheUse, Cached, Counted, Shared, Traffic, settle};

use crate::{
    answers::Answers,
    board::Board,
    in_force::{self, FORMAT, NotRaised},
    orders::not_now,
    whole::Whole,
    wire::{Answer, Question},
};

/// Takes orders to the nodes of a cluster.
pub struct NodeOperator {
    board: Arc<Board>,
    whole: Whole,
    answers: Arc<Answers>,
    shared: Arc<Counted>,
    cached: Arc<Cached>,
}

impl NodeOperator {
    /// At the node that answers so, which counts what goes to the shared store and keeps some of what comes from there.
    pub fn new(board: Arc<Board>, answers: Arc<Answers>, shared: Arc<Counted>, cached: Arc<Cached>) -> NodeOperator {
        NodeOperator { whole: Whole::new(board.clone()), board, answers, shared, cached }
    }

    /// An error if an order cannot be carried out as things stand.
    fn look_at(&self, order: &NodeOrder) -> Result<(), DirectoryError> {
        match order {
            NodeOrder::Move { shard, to } => self.can_move(*shard, to),
            NodeOrder::Drain(node) => self.can_drain(node),
            NodeOrder::Join(node) => self.alive(node).map(drop),
            NodeOrder::Forget(node) => self.can_forget(node),
            NodeOrder::Raise => self.can_raise().map(drop),
        }
    }

    fn carry_out(&self, order: &NodeOrder) -> Result<(), DirectoryError> {
        match order {
            NodeOrder::Move { shard, to } => self.tell(to, Question::Take(*shard)),
            NodeOrder::Drain(node) => self.tell(node, Question::Leave(true)),
            NodeOrder::Join(node) => self.tell(node, Question::Leave(false)),
            NodeOrder::Forget(node) => {
                let forgotten = settle::forget(&*self.shared, node);
                forgotten.map_err(|error| not_now(format!("node {node} is not forgotten: {error}")))
            }
            NodeOrder::Raise => self.raise(),
        }
    }

    /// Tells a node, which may be this one.
    fn tell(&self, node: &str, question: Question) -> Result<(), DirectoryError> {
        let answer =
            if node == self.board.own() { self.answers.made(question)? } else { self.board.ask(node, &question)? };
        if answer == Answer::Done(true) { Ok(()) } else { Err(self.board.nonsense(node)) }
    }

    fn known(&self, node: &str) -> Result<NodeStanding, DirectoryError> {
        let nodes = self.board.standing();
        let named = nodes.iter().map(|of| of.name.as_str()).collect::<Vec<_>>().join(", ");
        nodes.iter().find(|of| of.name == node).cloned().ok_or_else(|| {
            let node = node.chars().take(100).collect::<String>();
            nothing_there(format!("no node of this cluster is called {node:?}; there are {named}"))
        })
    }

    fn alive(&self, node: &str) -> Result<NodeStanding, DirectoryError> {
        let found = self.known(node)?;
        if found.state.is_alive() {
            return Ok(found);
        }
        let state = found.state.name();
        Err(in_the_way(format!("node {node} is {state}, and can be told nothing: start it first")))
    }

    fn can_move(&self, shard: u32, to: &str) -> Result<(), DirectoryError> {
        let site = self.board.site();
        if shard >= self.board.all() {
            let copies = if self.board.all() > site + 1 {
                format!(", and up to {} their copies", self.board.all() - 1)
            } else {
                String::new()
            };
            return Err(nothing_there(format!(
                "there is no shard {shard}; the last is {site}, which is the site{copies}"
            )));
        }
        match self.alive(to)? {
            of if of.shards.contains(&shard) => Err(in_the_way(format!("node {to} has shard {shard} already"))),
            of if self.would_meet(shard, &of) => Err(in_the_way(format!(
                "node {to} has shard {} of the same PVs, and the two are kept apart: move that one elsewhere first",
                self.board.pairs().other(shard).unwrap_or(shard)
            ))),
            of if of.state == NodeState::Leaves => {
                Err(in_the_way(format!("node {to} was drained and would give shard {shard} away: let it join first")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a node has the other one of a pair.
    fn would_meet(&self, shard: u32, of: &NodeStanding) -> bool {
        self.board.pairs().other(shard).is_some_and(|other| of.shards.contains(&other))
    }

    fn can_drain(&self, node: &str) -> Result<(), DirectoryError> {
        self.alive(node)?;
        let takes = |of: &NodeStanding| of.name != node && of.state == NodeState::Lives;
        match self.board.standing().iter().any(takes) {
            true => Ok(()),
            false => Err(in_the_way(format!("no other node could take what {node} has: start one, or let one join"))),
        }
    }

    /// A node that beats is not forgotten, and neither is one that may still come back to shards that nobody has taken.
    fn can_forget(&self, node: &str) -> Result<(), DirectoryError> {
        let found = self.known(node)?;
        if found.state.is_alive() {
            return Err(in_the_way(format!("node {node} lives: drain it and stop it first")));
        }
        if let Some(shard) = (0..self.board.all()).find(|shard| self.board.claim(*shard).is_none()) {
            return Err(not_now(self.board.nobody_has(shard)));
        }
        // The list is that of the last second; it may have come back since.
        let now = settle::read(|| self.shared.beats()).map_err(|error| not_now(error.to_string()))?;
        let said = now.iter().find(|(name, _)| name == node).and_then(|(_, beat)| crate::Beat::decode(beat));
        let known = self.board.nodes().into_iter().find(|(name, _, _)| name == node).map(|(_, beat, _)| beat);
        if said == known { Ok(()) } else { Err(in_the_way(format!("node {node} is back"))) }
    }

    /// The newest format that all nodes read, if it is newer than that in force.
    fn can_raise(&self) -> Result<u32, DirectoryError> {
        let formats: Vec<(String, u32)> = self.board.standing().into_iter().map(|of| (of.name, of.format)).collect();
        let in_force = in_force::in_force(&*self.shared);
        let in_force = in_force.map_err(|error| not_now(format!("the format in force is not known: {error}")))?;
        in_force::newest(in_force, FORMAT, &formats).map_err(|NotRaised(why)| in_the_way(why))
    }

    fn raise(&self) -> Result<(), DirectoryError> {
        let to = self.can_raise()?;
        in_force::raise(&*self.shared, to).map_err(|error| not_now(format!("the format is not raised: {error}")))?;
        self.board.writes(to);
        Ok(())
    }
}

impl Nodes for NodeOperator {
    fn standing(&self) -> ClusterStanding {
        let (node, shards) = (self.board.own().to_owned(), self.board.site());
        let mut nodes = self.board.standing();
        for of in nodes.iter_mut().filter(|of| of.state.is_alive()) {
            of.figures = self.board.figures_of(&of.name);
        }
        let copies = self.board.all() - self.board.site() - 1;
        let Traffic { written, read } = self.shared.traffic();
        let CacheUse { bytes: kept, found, fetched } = self.cached.usage();
        let shared = SharedUse { written, read, kept, found, fetched };
        ClusterStanding { node, shards, copies, format: self.board.format(), shared, nodes }
    }

    fn order(&self, order: &NodeOrder, by: &By) -> Result<(), DirectoryError> {
        self.look_at(order)?;
        self.whole.note(Action::ClusterOrdered, &order.to_string(), by)?;
        self.carry_out(order)
    }
}

fn nothing_there(message: String) -> DirectoryError {
    DirectoryError { fault: Fault::NothingThere, message }
}

fn in_the_way(message: String) -> DirectoryError {
    DirectoryError { fault: Fault::InTheWay, message }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        time::Duration,
    };

    use shared::twin::Memory;

    use super::*;
    use crate::{
        Beat, Node,
        testing::{Unwilling, board},
    };

    struct Running {
        node: Node,
        board: Arc<Board>,
        operator: NodeOperator,
        leaving: Arc<AtomicBool>,
    }

    fn running(name: &str, shared: &Arc<Memory>) -> Running {
        let (board, leaving) = (board(name, 2, shared), Arc::new(AtomicBool::new(false)));
        let node = Node::new(board.clone(), shared.clone(), Beat::default(), leaving.clone());
        let answers = Arc::new(Answers::new(board.clone(), Arc::new(Unwilling), leaving.clone()));
        let shared = Arc::new(Counted::new(shared.clone()));
        let cached = Arc::new(Cached::without(shared.clone()));
        Running { node, operator: NodeOperator::new(board.clone(), answers, shared, cached), board, leaving }
    }

    fn turn(nodes: &mut [&mut Running], seconds: std::ops::Range<u64>) {
        for second in seconds {
            nodes
                .iter_mut()
                .for_each(|of| drop(of.node.turn(Duration::from_secs(second), second as i64, &BTreeSet::new())));
        }
    }

    fn why_not(of: &Running, order: NodeOrder) -> (Fault, String) {
        let error = of.operator.look_at(&order).unwrap_err();
        (error.fault, error.message)
    }

    #[test]
    fn who_lives_is_not_forgotten_and_who_is_gone_is_when_others_have_its_shards() {
        let shared = Arc::new(Memory::default());
        let (mut a, mut b) = (running("a", &shared), running("b", &shared));
        a.board.recorded(0, 1);
        b.board.recorded(1, 1);
        b.board.recorded(2, 1);
        turn(&mut [&mut a, &mut b], 0..3);
        let forget = || NodeOrder::Forget("b".to_owned());
        let (fault, message) = why_not(&a, forget());
        assert_eq!((fault, message.contains("lives")), (Fault::InTheWay, true), "{message}");
        // It dies. As long as its shards are nobody's it may come back to them.
        turn(&mut [&mut a], 3..10);
        let (fault, message) = why_not(&a, forget());
        assert_eq!((fault, message.contains("shard 1")), (Fault::NotNow, true), "{message}");
        a.board.recorded(1, 2);
        a.board.recorded(2, 2);
        turn(&mut [&mut a], 10..12);
        assert!(a.board.problems()[0].contains("node b of the cluster is silent"), "{:?}", a.board.problems());
        a.operator.look_at(&forget()).unwrap();
        // In this very moment it comes back.
        turn(&mut [&mut b], 12..13);
        let (fault, message) = why_not(&a, forget());
        assert_eq!((fault, &*message), (Fault::InTheWay, "node b is back"));
        turn(&mut [&mut a], 12..20);
        a.operator.look_at(&forget()).unwrap();
        a.operator.carry_out(&forget()).unwrap();
        turn(&mut [&mut a], 20..21);
        assert_eq!(a.board.problems(), Vec::<String>::new());
        assert_eq!(why_not(&a, forget()).0, Fault::NothingThere);
    }

    #[test]
    fn what_cannot_be_done_is_refused_before_anything_is() {
        let shared = Arc::new(Memory::default());
        let (mut a, mut b) = (running("a", &shared), running("b", &shared));
        a.board.recorded(0, 1);
        turn(&mut [&mut a, &mut b], 0..3);
        let to = |shard, node: &str| NodeOrder::Move { shard, to: node.to_owned() };
        assert_eq!(why_not(&a, to(3, "b")).0, Fault::NothingThere, "the site is shard 2");
        a.operator.look_at(&to(2, "b")).unwrap();
        let (fault, message) = why_not(&a, to(0, "c"));
        assert_eq!((fault, message.contains("there are a, b")), (Fault::NothingThere, true), "{message}");
        assert_eq!(why_not(&a, to(0, "a")), (Fault::InTheWay, "node a has shard 0 already".to_owned()));
        let drain = |node: &str| NodeOrder::Drain(node.to_owned());
        a.operator.look_at(&drain("a")).unwrap();
        b.leaving.store(true, Relaxed);
        turn(&mut [&mut b, &mut a], 3..4);
        let (fault, message) = why_not(&a, drain("a"));
        assert_eq!((fault, message.contains("no other node")), (Fault::InTheWay, true), "{message}");
        assert_eq!(why_not(&a, to(0, "b")).0, Fault::InTheWay, "it would give it away at once");
        let (fault, message) = why_not(&a, NodeOrder::Raise);
        assert_eq!((fault, message.contains("no newer one is known")), (Fault::InTheWay, true), "{message}");
        b.node.farewell();
        turn(&mut [&mut a], 4..12);
        assert_eq!(a.board.standing()[1].state, NodeState::Stopped);
        assert_eq!(why_not(&a, NodeOrder::Join("b".to_owned())).0, Fault::InTheWay);
    }
}
