//! Policies and groups: by which rules PVs are archived, how far each reaches, and what applying those of the config file would change.

use std::collections::BTreeMap;

use archive::{GroupStatus, Manual, Plan, Policies, Policy, Right, RuleName};

use crate::{
    ask::Ask,
    policy_source::FileRules,
    refusal::{Code, Refusal},
};

/// What a PV takes while policies are compared with it.
const PLANNED_BYTES: usize = 400;
/// What a switch of a group takes until it is sent.
const SWITCH_BYTES: usize = 400;

/// A policy in force, and how many PVs it is for.
#[derive(Clone, Debug)]
pub struct PolicyReach {
    /// What it says.
    pub policy: Policy,
    /// How many PVs it is for.
    pub pvs: u64,
}

/// What the rules of the config file would change, or have changed.
#[derive(Clone, Debug)]
pub struct RulesPlan {
    /// Of PVs.
    pub plan: Plan,
    /// The groups that are not, or were not, as the file says.
    pub groups: Vec<RuleName>,
    /// The policies of the file, in its order.
    pub file: Policies,
}

/// A group of PVs, and how many are in it.
#[derive(Clone, Debug)]
pub struct GroupRow {
    /// Its name.
    pub name: RuleName,
    /// Its switches and how they stand; none if it has none.
    pub status: Option<GroupStatus>,
    /// How many PVs that are seen are in it.
    pub pvs: u64,
}

impl Ask {
    /// The policies by which PVs are added now.
    pub fn policy_reaches(&self) -> Result<Vec<PolicyReach>, Refusal> {
        let policies = self.policies_in_force();
        self.room_for_each_name(PLANNED_BYTES)?;
        let plan = self.listed().behind.rulebook.plan(&policies, Manual::Include);
        let reach = |policy: &Policy| {
            let pvs = plan.policies.get(policy.name.as_str()).map_or(0, |reach| reach.pvs);
            PolicyReach { policy: policy.clone(), pvs }
        };
        Ok(policies.iter().map(reach).collect())
    }

    /// What the policies and groups of the config file, as it is now, would change. Changes of PVs that are not seen are left out.
    pub fn plan_rules(&self, manual: Manual) -> Result<RulesPlan, Refusal> {
        let file = self.file_rules()?;
        self.room_for_each_name(PLANNED_BYTES)?;
        let rulebook = &self.listed().behind.rulebook;
        let mut plan = rulebook.plan(&file.policies, manual);
        plan.changes.retain(|change| self.sees(&change.entry));
        for change in plan.changes.iter_mut().filter(|_| !self.sees_all()) {
            change.entry.settings = self.as_seen(&change.entry.settings);
            change.to = self.as_seen(&change.to);
        }
        let mut groups = rulebook.groups_that_differ(&file.groups);
        groups.retain(|group| self.sees_group(group));
        Ok(RulesPlan { plan, groups, file: file.policies })
    }

    /// Applies them.
    pub fn apply_rules(&self, manual: Manual) -> Result<RulesPlan, Refusal> {
        let file = self.file_rules()?;
        self.room_for_each_name(PLANNED_BYTES)?;
        let rulebook = self.ordered_of_all(Right::Operate)?.rulebook;
        let plan = rulebook.apply(&file.policies, manual, &self.by())?;
        Ok(RulesPlan { plan, groups: rulebook.apply_groups(&file.groups), file: file.policies })
    }

    /// The policies and groups of the config file as it is now.
    fn file_rules(&self) -> Result<FileRules, Refusal> {
        self.listed().policies.read().map_err(|wrong| Refusal::new(Code::BadRequest, wrong))
    }

    /// The groups that have switches, and then those that PVs are in without. One of whose switches not all are seen is left out.
    pub fn groups(&self) -> Result<Vec<GroupRow>, Refusal> {
        let mut pvs: BTreeMap<RuleName, u64> = BTreeMap::new();
        for (index, entry) in self.all_pvs().enumerate() {
            if index % 1024 == 0 {
                self.go_on()?;
            }
            entry.settings.rules().groups.iter().for_each(|name| *pvs.entry(name.clone()).or_default() += 1);
        }
        let mut known = self.listed().behind.rulebook.groups();
        self.lease.grow_by(known.iter().map(|of| of.group.switches.len() + 1).sum(), SWITCH_BYTES)?;
        let hidden: Vec<GroupStatus> = known.extract_if(.., |of| !self.sees_switches(&of.group)).collect();
        hidden.iter().for_each(|of| _ = pvs.remove(&of.group.name));
        let mut rows: Vec<GroupRow> = Vec::with_capacity(known.len() + pvs.len());
        for status in known {
            let name = status.group.name.clone();
            rows.push(GroupRow { pvs: pvs.remove(&name).unwrap_or(0), name, status: Some(status) });
        }
        rows.extend(pvs.into_iter().map(|(name, pvs)| GroupRow { name, status: None, pvs }));
        Ok(rows)
    }
}
