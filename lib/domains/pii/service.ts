import { read } from '#lib/kernel/use-case.ts'
import { type Recognise, withNames } from './analyzer.ts'
import { scanText } from './contract.ts'
import { scan } from './scanner.ts'

/** Scans a text on request. The text is neither stored nor logged and is only sent to the configured analyzer, with findings masked. */
function piiService({ recognise }: { recognise: Recognise | undefined }) {
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

/** The scan of texts for personal data. */
export const piiModule = (deps: Parameters<typeof piiService>[0]) => ({ useCases: { pii: piiService(deps) } })
