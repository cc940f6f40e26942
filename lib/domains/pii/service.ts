import { read } from '#lib/kernel/use-case.ts'
import { type Recognise, withNames } from './analyzer.ts'
import { scanText } from './contract.ts'
import { scan } from './scanner.ts'

/** Looks through a text that somebody brings. The text is not stored, not logged, and goes to nobody but the connected analyzer, which is not shown what is found here. */
export function piiService({ recognise }: { recognise: Recognise | undefined }) {
  return {
    scan: read(scanText, async (_ctx, { body: { text, strategy, language } }) => {
      const { findings, missing } = await withNames(recognise, [text], [scan(text, { strategy })], language)
      return {
        body: {
          data: {
            findings: [...(findings[0] ?? [])],
            ...(missing.size > 0 && { degraded: ['presidio' as const] }),
          },
        },
        resourceId: 'scan',
      }
    }),
  }
}
