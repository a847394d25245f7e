//! A PV that is to be added, as nodes write it.

use std::time::Duration;

use archive::{
    AddRequest, Method, Protocol, PvName, PvSettings, PvState, RuleName, Rules, Wishes,
    settings::{SettingCell, SettingCells},
};
use minicbor::{Decode, Encode};

#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct AddRow {
    #[n(0)]
    name: String,
    #[n(1)]
    policy: Option<String>,
    #[n(2)]
    is_paused: bool,
    #[n(3)]
    protocol: Option<String>,
    /// 0 stands for a monitor, others are periods in nanoseconds.
    #[n(4)]
    method: Option<u64>,
    #[n(5)]
    rules: Vec<(u32, CellRow)>,
}

#[derive(Clone, Debug, PartialEq, Encode, Decode)]
enum CellRow {
    #[n(0)]
    Number(#[n(0)] f64),
    #[n(1)]
    Count(#[n(0)] u64),
    #[n(2)]
    Text(#[n(0)] String),
    #[n(3)]
    Texts(#[n(0)] Vec<String>),
}

impl AddRow {
    /// Of a request; none if it asks for something that cannot be said so: settings that are the usual ones, where a policy says others.
    pub(crate) fn of(request: &AddRequest) -> Option<AddRow> {
        let AddRequest { name, policy, wishes, state } = request;
        let settings = wishes.over(&plain());
        let rules = settings.rules().cells();
        let row = AddRow {
            name: name.to_string(),
            policy: policy.as_ref().map(RuleName::to_string),
            is_paused: *state == PvState::Paused,
            protocol: wishes.protocol.map(|protocol| protocol.name().to_owned()),
            method: wishes.method.map(|method| match method {
                Method::Monitor => 0,
                Method::Scan { period } => period.as_nanos() as u64,
            }),
            rules: rules.iter().map(|(number, cell)| (number, CellRow::of(cell))).collect(),
        };
        (row.request().as_ref() == Some(request)).then_some(row)
    }

    /// The request; none if it makes no sense.
    pub(crate) fn request(&self) -> Option<AddRequest> {
        let mut cells = SettingCells::default();
        self.rules.iter().for_each(|(number, cell)| cells.put(*number, cell.cell()));
        let rules = Rules::of_cells(&cells)?;
        let known = Wishes::from(&PvSettings { rules: rules.shared(), ..plain() });
        let protocol = self.protocol.as_deref().map(|name| Protocol::from_name(name).ok_or(())).transpose().ok()?;
        let method = self.method.map(|nanos| match nanos {
            0 => Method::Monitor,
            nanos => Method::Scan { period: Duration::from_nanos(nanos) },
        });
        Some(AddRequest {
            name: PvName::new(&self.name).ok()?,
            policy: self.policy.as_deref().map(RuleName::new).transpose().ok()?,
            wishes: Wishes { protocol, method, ..known },
            state: if self.is_paused { PvState::Paused } else { PvState::Active },
        })
    }
}

fn plain() -> PvSettings {
    PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active)
}

impl CellRow {
    fn of(cell: &SettingCell) -> CellRow {
        match cell {
            SettingCell::Number(number) => CellRow::Number(*number),
            SettingCell::Count(count) => CellRow::Count(*count),
            SettingCell::Text(text) => CellRow::Text(text.clone()),
            SettingCell::Texts(texts) => CellRow::Texts(texts.clone()),
        }
    }

    fn cell(&self) -> SettingCell {
        match self {
            CellRow::Number(number) => SettingCell::Number(*number),
            CellRow::Count(count) => SettingCell::Count(*count),
            CellRow::Text(text) => SettingCell::Text(text.clone()),
            CellRow::Texts(texts) => SettingCell::Texts(texts.clone()),
        }
    }
}
