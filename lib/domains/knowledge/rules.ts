import type { Unit } from './unit.ts'

interface Parts {
  completeness: number
  novelty: number
  diversity: number
  outcome: number
}
type Weights = readonly [completeness: number, novelty: number, diversity: number, outcome: number]
const weights = new Map<string, Weights>(
  Object.entries({
    finance: [0.2, 0.25, 0.1, 0.45],
    code: [0.2, 0.3, 0.3, 0.2],
    medical: [0.15, 0.2, 0.1, 0.55],
    customer_service: [0.2, 0.3, 0.2, 0.3],
  }),
)
const usual: Weights = [0.25, 0.35, 0.15, 0.25]
/** Until a job has compared the unit with its domain. */
export const noveltyAtFirst = 0.5

const distinct = <T>(items: Iterable<T>): number => new Set(items).size
const rounded = (share: number): number => Math.round(share * 10_000) / 10_000
const capped = (share: number): number => Math.min(1, share)

function partsOf(unit: Unit): Omit<Parts, 'novelty'> {
  switch (unit['@type']) {
    case 'ReasoningTrace': {
      const { steps, outcome, metadata } = unit
      const types = new Set(steps.map((step) => step.type))
      return {
        completeness: capped(
          (types.size / 4) * 0.5 + (types.has('error_recovery') ? 0.3 : 0) + (steps.length / 20) * 0.2,
        ),
        diversity: capped((distinct(steps.flatMap((step) => (step.tool ? [step.tool.name] : []))) / steps.length) * 3),
        outcome: outcome.confidence * (metadata.success ? 1 : 0.3),
      }
    }
    case 'ToolCallPattern':
      return {
        completeness: capped(unit.tool_sequence.length / 5),
        diversity: capped(distinct(unit.tool_sequence.flatMap((step) => step.tools.map((tool) => tool.name))) / 3),
        outcome: unit.performance.success_rate,
      }
    case 'ExpertSOP': {
      const tree = unit.decision_tree
      return {
        completeness: capped(tree.length / 8),
        diversity:
          tree.filter((step) => step.criteria !== undefined || (step.tool_suggestions?.length ?? 0) > 0).length /
          tree.length,
        outcome: (unit.validation?.test_cases.length ?? 0) > 0 ? 0.9 : 0.5,
      }
    }
  }
}

/** The registry's own quality of a unit before anybody voted, 0–1, rounded to four places; weighed by what counts in its domain. */
export function qualityOf(unit: Unit, novelty: number = noveltyAtFirst): number {
  const [c, n, d, o] = weights.get(unit.metadata.task_domain) ?? usual
  const { completeness, diversity, outcome } = partsOf(unit)
  return rounded(c * completeness + n * novelty + d * diversity + o * outcome)
}

/** What was found by those who used a unit: sums of the weights of their votes. */
export interface Votes {
  for: number
  against: number
}
/** The formula's own say, as a sum of weights: so many votes of weight 1 outweigh it by half. */
const formulaWeight = 5

/**
 * A unit's quality with its votes counted in, 0–1, rounded to four places: the weighted mean of the formula's value
 * ({@link qualityOf}, novelty included) and of the votes, each 1 or 0.
 */
export const scoreOf = (base: number, votes: Votes): number =>
  rounded((formulaWeight * base + votes.for) / (formulaWeight + votes.for + votes.against))

/** What a vote weighs by its voter's reputation: 0.5 without any, 1 from a score of 5, 2 from 15 on; never more, never less. */
export const voteWeight = (reputation: number): number => rounded(Math.min(2, 0.5 + Math.max(0, reputation) / 10))

/** So many reporters with distinct owners put a unit into quarantine. */
export const reportsToQuarantine = 3
/** How old an agent must be for its reports and votes to count while nobody claimed it, in milliseconds. */
export const ageToCount = 24 * 3_600_000

/** Rejections within this window, in milliseconds, … */
export const rejectionWindow = 3_600_000
/** … of which so many put what comes next into quarantine. */
export const rejectionsToQuarantine = 3
/** Milliseconds that counts of rejections are kept, so that an admin sees who tries again and again. */
export const rejectionsKept = 30 * 86_400_000

const rawPrompt = /^\s*(?:(?:human|user|assistant)\s*:|<\|?(?:user|assistant)\|?>)/im

/** What the contributor should look at; data minimisation (GDPR art. 5(1)(c)) asks for what was learned, not for a raw prompt. */
export function warningsOf(unit: Unit): string[] {
  const warnings: string[] = []
  if (unit['@type'] === 'ReasoningTrace' && (unit.task.objective.length > 2_000 || rawPrompt.test(unit.task.objective)))
    warnings.push('task.objective looks like a raw prompt: a summary of the task shares less of what people wrote.')
  return warnings
}

/** Whom a unit's content came from, where that is not its author: the expert of an SOP. */
export const attributedTo = (unit: Unit): string | null =>
  unit['@type'] === 'ExpertSOP' ? unit.source.expert_id : null
