//! What an operator asks of a node: how the cluster stands, to take a shard, to have none.

use crate::wire::{self, Answer, Question};

/// How a question in the bytes of the cluster is asked of a node.
type Ask<'a> = &'a dyn Fn(Vec<u8>) -> Result<Vec<u8>, String>;

fn asked(ask: Ask<'_>, question: &Question) -> Result<Answer, String> {
    match wire::read(&ask(wire::bytes(question))?) {
        Some(Answer::Fault(_, message)) => Err(message),
        Some(answer) => Ok(answer),
        None => Err("the node answered something else than what it was asked; run the same version".to_owned()),
    }
}

fn done(answer: &Answer) -> Result<(), String> {
    if matches!(answer, Answer::Done(true)) { Ok(()) } else { Err("the node did not do it".to_owned()) }
}

/// A line for each node, as the asked one sees it: name, how it stands, address, version, and the numbers of its shards.
pub fn overview(ask: Ask<'_>) -> Result<Vec<String>, String> {
    match asked(ask, &Question::Overview)? {
        Answer::Lines(lines) => Ok(lines),
        _ => Err("the node answered something else than how the cluster stands".to_owned()),
    }
}

/// Lets the asked node take a shard, whoever has it. It begins at once, and is done within seconds.
pub fn take(ask: Ask<'_>, shard: u32) -> Result<(), String> {
    done(&asked(ask, &Question::Take(shard))?)
}

/// Lets the asked node have no shards from now on, or have some again: the others take them one after the other.
pub fn leave(ask: Ask<'_>, leaves: bool) -> Result<(), String> {
    done(&asked(ask, &Question::Leave(leaves))?)
}
