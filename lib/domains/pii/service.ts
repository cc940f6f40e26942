import { read } from '#lib/kernel/use-case.ts'
import { merged, type Recognise } from './analyzer.ts'
import { scanText } from './contract.ts'
import { scan } from './scanner.ts'

/** Looks through a text that somebody brings. The text is not stored, not logged, and goes to nobody but the connected analyzer. */
export function piiService({ recognise }: { recognise: Recognise | undefined }) {
  return {
    scan: read(scanText, async (_ctx, { body: { text, strategy, language } }) => {
      const ours = scan(text, { strategy })
      const theirs = recognise === undefined ? [] : await recognise(text, language)
      return {
        body: {
          data: {
            findings: merged(text, ours, theirs ?? []),
            ...(theirs === undefined && { degraded: ['presidio' as const] }),
          },
        },
        resourceId: 'scan',
      }
    }),
  }
}
