//! `/api/v1/undo`: the orders that can be taken back for a day, what that would do, and doing it.

use archive::{UNDO_FOR, UndoPlan, UndoStep, UndoTo, Undoable};
use serde_json::{Map, Value, json};

use crate::{call::Call, delivery::answer::Answer, formats::list::Frame, refusal::Refusal};

/// What an order takes until it is sent.
const ROW_BYTES: usize = 2000;

/// `GET /undo`
pub(crate) fn list(call: &Call) -> Answer {
    let orders = call.ask.undoable()?;
    call.ask.lease.grow_by(orders.len(), ROW_BYTES)?;
    let rows = orders.into_iter().map(|order| Ok(Some(order_row(&order))));
    call.rows(Frame::member("orders", &Map::new())?, rows)
}

/// `GET /undo/{number}`
pub(crate) fn plan(call: &Call) -> Answer {
    told(call, call.ask.undo_plan(number(call)?)?)
}

/// `POST /undo/{number}`
pub(crate) fn undo(call: &Call) -> Answer {
    told(call, call.ask.undo(number(call)?)?)
}

fn number(call: &Call) -> Result<u64, Refusal> {
    call.path_number("number", "an order").map_err(|refusal| refusal.hint("GET /api/v1/undo lists them"))
}

fn told(call: &Call, UndoPlan { order, steps }: UndoPlan) -> Answer {
    let refused = steps.iter().filter(|step| matches!(step.to, UndoTo::Refused(_))).count();
    let mut head = order_row(&order);
    head.insert("changes".to_owned(), (steps.len() - refused).into());
    head.insert("refused".to_owned(), refused.into());
    // Each PV has a row instead of all being counted.
    head.remove("pvs");
    call.rows(Frame::member("pvs", &head)?, steps.into_iter().map(|step| Ok(Some(step_row(&step)))))
}

fn order_row(order: &Undoable) -> Map<String, Value> {
    Map::from_iter([
        ("number".to_owned(), order.number.into()),
        ("time".to_owned(), order.by.at.to_string().into()),
        ("by".to_owned(), order.by.who.to_string().into()),
        ("action".to_owned(), order.action.name().into()),
        ("detail".to_owned(), order.detail.as_str().into()),
        ("pvs".to_owned(), order.pvs.into()),
        ("until".to_owned(), order.by.at.saturating_add(UNDO_FOR).to_string().into()),
        ("right".to_owned(), order.right().name().into()),
    ])
}

fn step_row(step: &UndoStep) -> Value {
    let status = match &step.to {
        UndoTo::Settings(_) => "settings",
        UndoTo::Back(_) => "restored",
        UndoTo::Out(_) => "removed",
        UndoTo::Refused(why) => {
            return json!({ "name": step.name.as_str(), "status": "refused", "message": why });
        }
    };
    json!({ "name": step.name.as_str(), "status": status })
}
