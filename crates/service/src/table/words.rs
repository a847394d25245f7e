//! Words: the texts that many PVs share, such as units, each once; columns have their numbers.

use std::{collections::HashMap, net::SocketAddr, sync::Arc};

use archive::RuleName;

/// The number of no text.
pub(crate) const NONE: u32 = 0;

/// Texts with their numbers, from 1 on. None is ever taken out: a new table begins anew.
#[derive(Clone)]
pub(crate) struct Dict {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Default for Dict {
    fn default() -> Dict {
        Dict { texts: vec!["".into()], numbers: HashMap::new() }
    }
}

impl Dict {
    /// The number of a text, which is entered if it is new.
    pub(crate) fn number(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return NONE };
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (number, text): (u32, Arc<str>) = (self.texts.len() as u32, text.into());
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// The texts by their numbers; the first is none.
    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    /// Whether there is a text among them, by number, that is so; none if none is.
    pub(crate) fn which(&self, is_so: impl Fn(&str) -> bool) -> Option<Vec<bool>> {
        let which: Vec<bool> = self.texts.iter().enumerate().map(|(number, text)| number > 0 && is_so(text)).collect();
        which.contains(&true).then_some(which)
    }

    /// The place of each number when the texts are in order; none comes last.
    pub(crate) fn order(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..self.texts.len() as u32).collect();
        numbers.sort_by_key(|number| &self.texts[*number as usize]);
        let mut places = vec![u32::MAX; self.texts.len()];
        numbers.iter().enumerate().for_each(|(place, number)| places[*number as usize] = place as u32);
        places
    }
}

/// All of them.
#[derive(Clone)]
pub(crate) struct Words {
    pub(crate) policies: Dict,
    pub(crate) groups: Dict,
    pub(crate) units: Dict,
    pub(crate) iocs: Dict,
    /// Who has added PVs.
    pub(crate) adders: Dict,
    /// The lists of groups that PVs are in; the first is of those that are in none.
    group_lists: Vec<Box<[u32]>>,
    by_group_list: HashMap<Box<[u32]>, u32>,
    by_address: HashMap<SocketAddr, u32>,
}

impl Default for Words {
    fn default() -> Words {
        Words {
            policies: Dict::default(),
            groups: Dict::default(),
            units: Dict::default(),
            iocs: Dict::default(),
            adders: Dict::default(),
            group_lists: vec![Box::default()],
            by_group_list: HashMap::new(),
            by_address: HashMap::new(),
        }
    }
}

impl Words {
    /// The number of the list of groups that a PV is in.
    pub(crate) fn group_list(&mut self, groups: &[RuleName]) -> u32 {
        if groups.is_empty() {
            return NONE;
        }
        let list: Box<[u32]> = groups.iter().map(|group| self.groups.number(Some(group.as_str()))).collect();
        if let Some(number) = self.by_group_list.get(&list) {
            return *number;
        }
        let number = self.group_lists.len() as u32;
        self.group_lists.push(list.clone());
        self.by_group_list.insert(list, number);
        number
    }

    /// The groups of each list, by its number.
    pub(crate) fn group_lists(&self) -> &[Box<[u32]>] {
        &self.group_lists
    }

    /// Which lists have one of these groups.
    pub(crate) fn lists_with(&self, groups: &[bool]) -> Vec<bool> {
        let has_one = |list: &[u32]| list.iter().any(|group| groups.get(*group as usize) == Some(&true));
        self.group_lists.iter().map(|list| has_one(list)).collect()
    }

    /// The number of an IOC. Its address is written as text only once.
    pub(crate) fn ioc(&mut self, server: SocketAddr) -> u32 {
        if let Some(number) = self.by_address.get(&server) {
            return *number;
        }
        let number = self.iocs.number(Some(&server.to_string()));
        self.by_address.insert(server, number);
        number
    }
}
