//! Orders about a shard wherever it lies: carried out here if it is open here, else by the node that has it.
//!
//! An order that changes something is sent once. Where the node is lost before it has answered, nobody knows whether it was carried out,
//! and that is what whoever gave it is told; an order is given again only where certainly nothing was done, while its shard goes from one
//! node to another.

use std::{
    thread,
    time::{Duration, Instant},
};

use archive::{DirectoryError, Fault};

use crate::{
    board::{Board, Seat},
    orders::not_now,
    seams::Open,
    wire::{self, Answer, Question},
};

/// While a shard goes from one node to another, orders about its PVs wait so long, and are tried again that often.
pub(crate) const WAITS: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
const AGAIN: Duration = Duration::from_millis(200);
/// A node whose store takes nothing any more, as another node has the shard, gives the shard up within this time: it looks once a second.
const GIVEN_UP_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 2500 });

/// What a node takes from another in one question, with what stands around it.
const QUESTION_BYTES_MAX: usize = (2 << 20) - 4096;

impl Board {
    /// Carries out an order or a question about a shard, wherever the shard is: `here` does so on this node, `question` puts it to another
    /// node, and `read` takes that node's answer apart.
    pub(crate) fn at<T>(
        &self,
        shard: u32,
        here: impl Fn(&Open) -> Result<T, DirectoryError>,
        question: impl Fn() -> Question,
        read: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, DirectoryError> {
        let begun = Instant::now();
        loop {
            let why = match self.seat(shard) {
                Seat::Here(open) => match here(&open) {
                    Err(error) if self.is_gone(shard, &open, &error) => error.message,
                    done => return done,
                },
                Seat::There(node) => {
                    let question = question();
                    match self.told_to(&node, &question)? {
                        Answer::Elsewhere => self.nobody_has(shard),
                        answer => {
                            let read = read(answer).ok_or_else(|| self.nonsense(&node))?;
                            if question.is_order() {
                                self.look_again(shard); // the next list that somebody asks for here is to show it
                            }
                            return Ok(read);
                        }
                    }
                }
                Seat::Nowhere => self.nobody_has(shard),
            };
            if begun.elapsed() >= WAITS {
                return Err(not_now(why));
            }
            thread::sleep(AGAIN);
        }
    }

    /// Whether an order was refused because its shard goes elsewhere at this moment. The store has done nothing then.
    pub(crate) fn is_gone(&self, shard: u32, open: &Open, error: &DirectoryError) -> bool {
        // Without the shared store nobody hears of another owner.
        let is_detached = || open.storage.health().shards.iter().any(|lag| lag.detached_seconds.is_some());
        if error.fault != Fault::NotNow || is_detached() {
            return false;
        }
        let is_here = || matches!(self.seat(shard), Seat::Here(now) if now.epoch == open.epoch);
        let begun = Instant::now();
        while is_here() && begun.elapsed() < GIVEN_UP_WITHIN {
            thread::sleep(AGAIN);
        }
        !is_here()
    }

    /// Looks into the journal of a shard that another node has: what an order is about may have come a moment ago.
    pub(crate) fn look_again(&self, shard: u32) {
        if self.open_here(shard).is_none()
            && let Err(error) = self.follow_one(shard)
        {
            tracing::warn!("the list of shard {shard} is behind: {error}");
        }
    }

    /// Who takes samples of the past of a shard: this node, or another that can be asked. While there is none it is waited for until then, as
    /// with any order: this node may be the one that takes the shard.
    pub(crate) fn taker(&self, shard: u32, until: Instant) -> Result<Seat, DirectoryError> {
        loop {
            match self.seat(shard) {
                // Who has died is the one that has it until all have heard of that.
                Seat::There(node) if self.is_away(&node) => {}
                Seat::Nowhere => {}
                seat => return Ok(seat),
            }
            if Instant::now() >= until {
                return Err(not_now(self.nobody_has(shard)));
            }
            thread::sleep(AGAIN);
        }
    }

    /// Whether a node cannot be asked at present.
    fn is_away(&self, node: &str) -> bool {
        self.peers.source(node).is_none_or(|link| link.away().is_some())
    }

    /// What another node says; that the shard is elsewhere, if it cannot be asked at all.
    fn told_to(&self, node: &str, question: &Question) -> Result<Answer, DirectoryError> {
        if self.is_away(node) {
            return Ok(Answer::Elsewhere);
        }
        let question_bytes = wire::bytes(question);
        if question_bytes.len() > QUESTION_BYTES_MAX {
            let message =
                format!("this is more than nodes say to each other at once: give node {node} this order itself");
            return Err(DirectoryError { fault: Fault::NoRoom, message });
        }
        let answer = match self.peers.ask(node, question_bytes, question.is_order()) {
            Ok(answer) => answer,
            Err(_) if !question.is_order() => return Ok(Answer::Elsewhere),
            Err(error) => {
                let message = format!(
                    "node {node} did not say whether it has carried this order out: {}; look before you give it again",
                    error.message
                );
                return Err(DirectoryError { fault: Fault::NotNow, message });
            }
        };
        match wire::read(&answer) {
            Some(Answer::Fault(fault, message)) => Err(wire::fault(fault, message)),
            Some(answer) => Ok(answer),
            None => Err(self.nonsense(node)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use sample::Timestamp;

    use super::*;
    use crate::testing::{empty_shard, says};

    fn ordered(board: &Board, question: impl Fn() -> Question) -> Result<(), DirectoryError> {
        board.at(0, |_| panic!("it is not here"), question, wire::done)
    }

    fn revoke() -> Question {
        Question::RevokeToken("x".to_owned(), (&archive::By::new("the test", Timestamp::MIN)).into())
    }

    #[test]
    fn an_order_whose_answer_is_lost_is_not_given_again() {
        let (board, peers) = says(vec![None, Some(Answer::Done(true))], None);
        let error = ordered(&board, revoke).unwrap_err();
        assert_eq!(error.fault, Fault::NotNow);
        assert!(error.message.contains("node b did not say whether it has carried this order out"), "{error}");
        assert_eq!(peers.asked.load(Relaxed), 1);
    }

    #[test]
    fn what_changes_nothing_is_asked_again_and_so_is_a_node_that_has_done_nothing() {
        let (asking, peers) = says(vec![None, Some(Answer::Done(true))], None);
        ordered(&asking, || Question::Tokens).unwrap();
        assert_eq!(peers.asked.load(Relaxed), 2);
        let (ordering, peers) = says(vec![Some(Answer::Elsewhere), Some(Answer::Done(true))], None);
        ordered(&ordering, revoke).unwrap();
        assert_eq!(peers.asked.load(Relaxed), 2);
    }

    #[test]
    fn a_node_that_is_away_is_asked_nothing_and_its_shard_is_nobodys_after_a_while() {
        let (board, peers) = says(vec![], Some("nobody answers there"));
        let error = ordered(&board, revoke).unwrap_err();
        assert!(error.message.contains("no node has shard 0"), "{error}");
        assert_eq!(peers.asked.load(Relaxed), 0);
    }

    #[test]
    fn a_shard_that_no_node_has_is_waited_for_until_one_takes_it() {
        let soon = || Instant::now() + WAITS;
        let (board, _) = says(vec![], None);
        assert!(matches!(board.taker(0, soon()), Ok(Seat::There(node)) if node == "b"));

        // Its node is dead, and nobody has said so yet.
        let (board, _) = says(vec![], Some("nobody answers there"));
        let begun = Instant::now();
        let error = board.taker(0, soon()).map(|_| ()).unwrap_err();
        assert_eq!(error.fault, Fault::NotNow);
        assert!(error.message.contains("no node has shard 0"), "{error}");
        assert!(begun.elapsed() >= WAITS);

        // This node takes it meanwhile.
        let taking = board.clone();
        let taken = thread::spawn(move || taking.opened(0, empty_shard(5)));
        assert!(matches!(board.taker(0, soon()), Ok(Seat::Here(open)) if open.epoch == 5));
        taken.join().unwrap();
    }

    #[test]
    fn what_is_longer_than_nodes_say_at_once_is_refused_with_the_node() {
        let (board, peers) = says(vec![], None);
        let long =
            || Question::RevokeToken("x".repeat(3 << 20), (&archive::By::new("the test", Timestamp::MIN)).into());
        let error = ordered(&board, long).unwrap_err();
        assert!(error.message.contains("give node b this order itself"), "{error}");
        assert_eq!(peers.asked.load(Relaxed), 0);
    }

    #[test]
    fn a_refusal_of_the_node_is_that_of_the_order() {
        let why = DirectoryError { fault: Fault::NameTaken, message: "taken".to_owned() };
        let (board, _) = says(vec![Some(wire::fault_row(&why))], None);
        assert_eq!(ordered(&board, revoke), Err(why));
    }

    #[test]
    fn an_order_goes_on_where_its_shard_has_gone_while_its_store_refused_it() {
        let (board, peers) = says(vec![Some(Answer::Done(true))], None);
        board.opened(0, empty_shard(5));
        let refused = || DirectoryError { fault: Fault::NotNow, message: "another node owns this shard".to_owned() };
        let tried = AtomicU32::new(0);
        let here = |_: &Open| {
            tried.fetch_add(1, Relaxed);
            board.closed(0);
            Err(refused())
        };
        board.at(0, here, revoke, wire::done).unwrap();
        assert_eq!((tried.load(Relaxed), peers.asked.load(Relaxed)), (1, 1));

        // It stays here, and is refused: for whatever reason, that is the end of it.
        let (board, peers) = says(vec![], None);
        board.opened(0, empty_shard(5));
        let tried = AtomicU32::new(0);
        let here = |_: &Open| {
            tried.fetch_add(1, Relaxed);
            Err(refused())
        };
        assert_eq!(board.at(0, here, revoke, wire::done), Err(refused()));
        assert_eq!((tried.load(Relaxed), peers.asked.load(Relaxed)), (1, 0));
    }
}
