//! What a server does with each message of a client.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use pvdata::{Data, Type};

use super::{
    circuit::{Manner, Request},
    hub::{Hub, pick},
    monitor::Monitor,
    reply,
    request::{self, Ids, Searched, command, step},
    selection::Selection,
};
use crate::pva::{
    Error,
    wire::{Header, put_server_message},
};

impl Hub {
    pub(super) fn take(&mut self, id: u32, header: Header, payload: &[u8], port: u16) -> Result<(), Error> {
        let Some(circuit) = self.circuits.get_mut(id) else { return Ok(()) };
        let request = request::Request::decode(header, payload, &mut circuit.registry)?;
        match request {
            request::Request::Validation { method, user } => {
                tracing::debug!(method, ?user, "a client says who it is");
                circuit.validated = true;
                circuit.user = user;
                reply::validated(&mut circuit.out, None);
            }
            request::Request::Echo(payload) => reply::echo(&mut circuit.out, payload),
            request::Request::Search(searched) => {
                let found = self.look_up(&searched);
                let Some(circuit) = self.circuits.get_mut(id) else { return Ok(()) };
                if searched.reply_required || !found.is_empty() {
                    reply::search_reply(&mut circuit.out, self.guid, &searched, port, &found);
                }
            }
            request::Request::Create(wanted) => wanted.iter().for_each(|(cid, name)| self.create(id, *cid, name)),
            request::Request::DestroyChannel { sid, cid } => {
                self.close_channel(id, sid);
                if let Some(circuit) = self.circuits.get_mut(id) {
                    reply::destroyed(&mut circuit.out, sid, cid);
                }
            }
            request::Request::GetField { ids, field } => self.get_field(id, ids, &field),
            request::Request::Get { ids, step, fields } if step & step::INIT != 0 => {
                self.begin(id, command::GET, ids, (step, 0), fields.as_ref());
            }
            request::Request::Get { ids, step, .. } => self.get(id, ids, step),
            request::Request::Monitor { ids, step, fields, window } if step & step::INIT != 0 => {
                self.begin(id, command::MONITOR, ids, (step, window), fields.as_ref());
            }
            request::Request::Monitor { ids, step, window, .. } => self.monitor(id, ids, step, window),
            request::Request::End(ids) => self.end_request(id, ids.ioid),
            request::Request::Refused { command, ids, step } => {
                reply::refused(&mut circuit.out, command, ids.ioid, step, "this server can only be read");
            }
            request::Request::Other => {}
        }
        Ok(())
    }

    pub(super) fn look_up(&mut self, searched: &Searched) -> Vec<u32> {
        self.counts.searches += 1;
        self.counts.names_searched += searched.names.len() as u64;
        searched.names.iter().filter(|(_, name)| self.pvs.find(name).is_some()).map(|(id, _)| *id).collect()
    }

    fn create(&mut self, id: u32, cid: u32, name: &str) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        let sid = match self.pvs.find(name) {
            Some(_) if !circuit.validated => Err("the client has not said who it is"),
            Some(pv) => Ok(circuit.open(cid, pv)),
            None => Err("no such PV"),
        };
        self.counts.channels += u64::from(sid.is_ok());
        reply::created(&mut circuit.out, cid, sid);
    }

    fn get_field(&mut self, id: u32, ids: Ids, field: &str) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        let described = circuit.channels.get(&ids.sid).and_then(|channel| self.pvs.type_of(channel.pv));
        match described {
            Some((number, described)) if field.is_empty() => {
                let number = self.settings.type_numbers.then_some(number);
                circuit.describe(number, described, command::GET_FIELD, ids.ioid);
            }
            Some((_, described)) => match subtype(&described.ty, field) {
                Some(ty) => reply::ready(&mut circuit.out, command::GET_FIELD, ids.ioid, |w| ty.encode(w)),
                None => reply::refused(&mut circuit.out, command::GET_FIELD, ids.ioid, 0, "no such field"),
            },
            None => reply::refused(&mut circuit.out, command::GET_FIELD, ids.ioid, 0, "no such channel"),
        }
    }

    /// Begins a get or a monitor.
    fn begin(&mut self, id: u32, command: u8, ids: Ids, (step, window): (u8, u32), fields: Option<&Data>) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        let Ids { sid, ioid } = ids;
        let at = circuit.out.len();
        let channel = circuit.channels.get(&sid).copied().filter(|_| !circuit.requests.contains_key(&ioid));
        let Some((pv, (number, described))) =
            channel.and_then(|channel| Some((channel.pv, self.pvs.type_of(channel.pv)?)))
        else {
            return reply::refused(&mut circuit.out, command, ioid, step::INIT, "no such channel, or a number in use");
        };
        let selection = match Selection::new(fields, &described.ty) {
            Ok(selection) => Selection { pipeline: selection.pipeline && step & step::PIPELINE != 0, ..selection },
            Err(words) => return reply::refused(&mut circuit.out, command, ioid, step::INIT, words),
        };
        let breach = self.pvs.get(pv).and_then(|pv| pick(pv.breach, &mut self.random, &mut self.counts));
        // what comes in a spoiled message was not described to the client
        let number = (self.settings.type_numbers && breach.is_none()).then_some(number);
        circuit.describe(number, described, command, ioid);
        let request = if command == command::GET {
            Request::Get { sid, pv, selection }
        } else {
            self.counts.monitors += 1;
            let monitor = self.monitors.insert(Monitor::new(id, ioid, pv, selection, window));
            if let Some(pv) = self.pvs.get_mut(pv) {
                pv.monitors.push(monitor);
            }
            Request::Monitor { sid, monitor }
        };
        circuit.requests.insert(ioid, request);
        circuit.finish(at, Manner { segment_bytes: self.settings.segment_bytes, breach }, &mut self.random);
    }

    fn get(&mut self, id: u32, ids: Ids, step: u8) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        let at = circuit.out.len();
        let Some(Request::Get { pv, selection, .. }) = circuit.requests.get(&ids.ioid) else {
            return reply::refused(&mut circuit.out, command::GET, ids.ioid, step, "no such request");
        };
        let (Some((_, described)), Some(pv)) = (self.pvs.type_of(*pv), self.pvs.get(*pv)) else { return };
        let fields = selection.fields.clone().unwrap_or_else(|| std::iter::once(0).collect());
        put_server_message(&mut circuit.out, command::GET, |w| {
            w.u32(ids.ioid);
            w.u8(step);
            reply::status(w, None);
            w.bits(&fields);
            if let Err(error) = pv.value.encode_changed(&described.ty, &fields, 0, w) {
                tracing::error!(pv = %pv.name, %error, "a value does not have the shape of its type");
            }
        });
        circuit.finish(at, Manner { segment_bytes: self.settings.segment_bytes, breach: None }, &mut self.random);
        if step & step::DESTROY != 0 {
            self.end_request(id, ids.ioid);
        }
    }

    fn monitor(&mut self, id: u32, ids: Ids, step: u8, window: u32) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        let Some(Request::Monitor { monitor: number, .. }) = circuit.requests.get(&ids.ioid) else { return };
        let number = *number;
        let Some(monitor) = self.monitors.get_mut(number) else { return };
        if step & step::PIPELINE != 0 {
            monitor.window = monitor.window.saturating_add(u64::from(window));
        }
        if step & step::START_STOP != 0 {
            let start = step & step::START != 0;
            if start
                && !monitor.running
                && let Some(pv) = self.pvs.get(monitor.pv)
            {
                // whoever begins is told everything first
                let all = monitor.selection.fields.clone().unwrap_or_else(|| std::iter::once(0).collect());
                monitor.running = true;
                monitor.push(all, Arc::clone(&pv.value));
            } else if !start {
                monitor.running = false;
                self.counts.abandoned += monitor.clear() as u64;
            }
        }
        if !monitor.is_empty() && !monitor.in_backlog {
            monitor.in_backlog = true;
            circuit.backlog.push_back(number);
        }
        if step & step::DESTROY != 0 {
            self.end_request(id, ids.ioid);
        }
    }

    fn end_request(&mut self, id: u32, ioid: u32) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        let Some(Request::Monitor { monitor: number, .. }) = circuit.requests.remove(&ioid) else { return };
        let Some(mut monitor) = self.monitors.remove(number) else { return };
        self.counts.abandoned += monitor.clear() as u64;
        if let Some(pv) = self.pvs.get_mut(monitor.pv) {
            pv.monitors.retain(|other| *other != number);
        }
    }

    pub(super) fn close_channel(&mut self, id: u32, sid: u32) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        circuit.channels.remove(&sid);
        let ended: Vec<u32> =
            circuit.requests.iter().filter(|(_, request)| request.sid() == sid).map(|(ioid, _)| *ioid).collect();
        ended.into_iter().for_each(|ioid| self.end_request(id, ioid));
    }
}

/// The type of a field, by its dotted name.
fn subtype<'a>(ty: &'a Type, field: &str) -> Option<&'a Type> {
    field.split('.').try_fold(ty, |ty, part| match ty {
        Type::Structure(s) | Type::Union(s) => s.field(part).map(|(_, ty)| ty),
        _ => None,
    })
}
