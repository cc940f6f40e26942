import { read } from '#lib/kernel/use-case.ts'
import { scanText } from './contract.ts'
import { type Finding, finding, type Kind, settled } from './findings.ts'
import { scan } from './scanner.ts'

/** What an analyzer of names found, in UTF-16 offsets; `entity` is its own word for the kind. */
interface Recognised {
  entity: string
  start: number
  end: number
  score: number
}
/** Whoever finds names. `undefined`: it did not answer. */
type Recognise = (text: string, language: string) => Promise<Recognised[] | undefined>

/** Presidio's words for what we tell. */
const kindsOf = new Map<string, Kind>([
  ['PERSON', 'name'],
  ['LOCATION', 'address'],
  ['EMAIL_ADDRESS', 'email'],
  ['PHONE_NUMBER', 'phone'],
  ['IBAN_CODE', 'iban'],
  ['CREDIT_CARD', 'card'],
  ['US_SSN', 'ssn'],
  ['IP_ADDRESS', 'ip'],
  ['CRYPTO', 'bitcoin_address'],
])
/** Below, Presidio guesses. */
const leastScore = 0.5

/** Ours, and theirs where ours has nothing. */
function merged(ours: readonly Finding[], theirs: readonly Recognised[]): Finding[] {
  const more = theirs.flatMap(({ entity, start, end, score }) => {
    const kind = kindsOf.get(entity)
    const isNew = ours.every((one) => one.end <= start || one.start >= end)
    return kind !== undefined && score >= leastScore && isNew ? [finding(kind, start, end, Math.min(score, 1))] : []
  })
  return settled([...ours, ...more])
}

/** Looks through a text that somebody brings. The text is not stored, not logged, and goes to nobody but the connected analyzer. */
export function piiService({ recognise }: { recognise: Recognise | undefined }) {
  return {
    scan: read(scanText, async (_ctx, { body: { text, strategy, language } }) => {
      const ours = scan(text, { strategy })
      const theirs = recognise === undefined ? [] : await recognise(text, language)
      return {
        body: {
          data: {
            findings: merged(ours, theirs ?? []),
            ...(theirs === undefined && { degraded: ['presidio' as const] }),
          },
        },
        resourceId: 'scan',
      }
    }),
  }
}
