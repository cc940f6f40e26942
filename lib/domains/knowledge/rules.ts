import type { Unit } from './contract.ts'

interface QualityParts {
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
/** Novelty until a job has compared the unit with its domain. */
export const noveltyAtFirst = 0.5

const distinct = <T>(items: Iterable<T>): number => new Set(items).size
const rounded = (share: number): number => Math.round(share * 10_000) / 10_000
const capped = (share: number): number => Math.min(1, share)

function partsOf(unit: Unit): Omit<QualityParts, 'novelty'> {
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

/** The registry's own quality of a unit, without votes: 0–1, rounded to four places, weighted by task domain. */
export function qualityOf(unit: Unit, novelty: number = noveltyAtFirst): number {
  const [c, n, d, o] = weights.get(unit.metadata.task_domain) ?? usual
  const { completeness, diversity, outcome } = partsOf(unit)
  return rounded(c * completeness + n * novelty + d * diversity + o * outcome)
}

/** Judgement of users: sums of the weights of their votes. */
export interface Votes {
  for: number
  against: number
}
/** Weight of the formula against votes, as a sum of vote weights. */
const formulaWeight = 5

/**
 * Quality of a unit including votes, 0–1, rounded to four places: the weighted mean of the formula's value ({@link qualityOf}, including
 * novelty) and of the votes, each 1 or 0.
 */
export const scoreOf = (base: number, votes: Votes): number =>
  rounded((formulaWeight * base + votes.for) / (formulaWeight + votes.for + votes.against))

/** Weight of a vote by the voter's reputation: 0.5 without any, 1 at a score of 5, at most 2 from 15. */
export const voteWeight = (reputation: number): number => rounded(Math.min(2, 0.5 + Math.max(0, reputation) / 10))

/** Number of reporters with distinct owners that puts a unit into quarantine. */
export const reportsToQuarantine = 3
/** Age in milliseconds from which reports and votes of an unclaimed agent count. */
export const ageToCount = 24 * 3_600_000

/** Period in milliseconds in which rejections count towards {@link rejectionsToQuarantine}. */
export const rejectionWindow = 3_600_000
/** Number of rejections after which further contributions are quarantined. */
export const rejectionsToQuarantine = 3
/** Retention of rejection counts in milliseconds, so that admins notice repeated attempts. */
export const rejectionRetention = 30 * 86_400_000

const rawPrompt = /^[^\S\n\r\u2028\u2029]*(?:(?:human|user|assistant)\s*:|<\|?(?:user|assistant)\|?>)/im

/** Warnings for the contributor. Data minimisation (GDPR art. 5(1)(c)) calls for what was learned rather than a raw prompt. */
export function warningsOf(unit: Unit): string[] {
  const warnings: string[] = []
  if (unit['@type'] === 'ReasoningTrace' && (unit.task.objective.length > 2_000 || rawPrompt.test(unit.task.objective)))
    warnings.push('task.objective looks like a raw prompt. A summary of the task contains less personal text.')
  return warnings
}

/** Source of a unit's content other than its author: the expert of an SOP, else null. */
export const attributedTo = (unit: Unit): string | null =>
  unit['@type'] === 'ExpertSOP' ? unit.source.expert_id : null
