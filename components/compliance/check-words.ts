import type { EvidenceProblem } from '#lib/kernel/evidence.ts'
import en from '#messages/en.ts'

const { of: checks, do: remedies, words, times } = en.compliance
type CheckKey = keyof typeof checks
type RemedyKey = keyof typeof remedies
type WordKey = keyof typeof words
type TimeKey = keyof typeof times

/** Checks that share the sentence of another. */
const sharedTexts: Record<string, CheckKey> = {
  'requests.access': 'answers',
  'requests.portability': 'answers',
  'exports.all': 'exports',
  'exports.provided': 'exports',
  'rights.can_view': 'rights',
  'rights.can_export': 'rights',
  'rights.can_request_deletion': 'rights',
}
const sharedRemedies: Record<string, RemedyKey> = {
  'tokens.refusals': 'worker',
  'requests.leftovers': 'worker',
  'retention.sweep': 'worker',
  'installation.letters': 'worker',
  'audit.append-only': 'rights_reset',
  'erasure.append-only': 'rights_reset',
}
/** The job that deletes the expired records that a check counts. */
const jobs: Record<string, string> = {
  'llm-log.overdue': 'llm-log.purge-ended',
  'snapshots.ended': 'snapshots.upkeep',
  'agents.heartbeats': 'agents.purge-heartbeats',
  'agents.documents': 'agents.purge-documents',
  'grimoire.ended': 'grimoire.purge-ended',
  'clades.unfetched': 'clades.keep-terms',
  'telemetry.keys': 'telemetry.destroy-keys',
}

/** next-intl nests keys at dots, so dots become underscores. */
const keyOf = (name: string): string => name.replaceAll('.', '_')
const isCheck = (key: string): key is CheckKey => Object.hasOwn(checks, key)
const isRemedy = (key: string): key is RemedyKey => Object.hasOwn(remedies, key)
/** The message key of a check's sentence. Undefined if there is no translation. */
export function checkKeyOf(name: string): CheckKey | undefined {
  const key = sharedTexts[name] ?? keyOf(name)
  return isCheck(key) ? key : undefined
}
/** What to do when the check finds a problem: the message key, and the job to look for. */
export function remedyOf(name: string): { key: RemedyKey; job: string } | undefined {
  const job = jobs[name] ?? ''
  const key = job ? 'job' : (sharedRemedies[name] ?? sharedTexts[name] ?? keyOf(name))
  return isRemedy(key) ? { key, job } : undefined
}
type ProblemKey = keyof typeof en.compliance.problems
/** The message key of a problem that a check found. */
export const problemKeyOf = (problem: EvidenceProblem) => keyOf(problem) as ProblemKey
/** Whether a fact is a known word that can be translated. */
export const isWord = (text: string): text is WordKey => Object.hasOwn(words, text)
export const isTime = (name: string): name is TimeKey => Object.hasOwn(times, name)
