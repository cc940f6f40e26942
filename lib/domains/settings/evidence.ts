import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { settingNamed } from './repository.ts'

/** Protection by default (GDPR art. 25(2)): data is public only when somebody decided so. */
export const settingsEvidence = (): EvidenceCheck[] => [
  {
    line: 'by_design',
    name: 'settings.anonymous-reading',
    page: '/admin/tokens#settings',
    async ask(query) {
      const [row] = await settingNamed(query, { name: 'anonymous_reading' })
      const isOn = row?.value === true
      return {
        state: isOn ? 'attention' : 'holds',
        numbers: { on: isOn ? 1 : 0 },
        times: { changed: row?.updated_at ?? null },
      }
    },
  },
]
