import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { RequestPart } from './request-rules.ts'
import { partTones } from './request-tones.ts'
import type { OwnRequestDetail } from './requests.ts'

/** The state of the requested copy; undefined if none is being prepared. */
function copyOf({ outcome: { copy, export_id }, state }: RequestPart) {
  if (copy === 'ready' || copy === 'fetched' || copy === 'gone' || copy === 'failed') return copy
  return export_id !== undefined && state === 'running' ? 'preparing' : undefined
}

/** The parts of a request with the progress of each. */
export function RequestPartList({ request: { parts, redact } }: { request: OwnRequestDetail }) {
  const t = useTranslations('requests')
  const names = useTranslations('requestNames')
  return (
    <ul className="divide-y divide-line border-y border-line">
      {parts.map((part) => {
        const copy = copyOf(part)
        const { waits_for: waitsFor } = part.outcome
        return (
          <li key={part.kind} className="grid gap-1 py-2.5">
            <p className="flex flex-wrap gap-x-4">
              <span className="grow font-medium">{names(`kinds.${part.kind}`)}</span>
              <Badge tone={partTones[part.state]} hasDot>
                {part.state === 'running' && (waitsFor === 'address' || waitsFor === 'admin')
                  ? t(`waitsFor.${waitsFor}`)
                  : names(`partStates.${part.state}`)}
              </Badge>
            </p>
            {part.kind === 'erasure' && redact && <p className="text-sm text-quiet">{t('request.redact')}</p>}
            {copy && (
              <p className="text-sm text-quiet">
                {t.rich(`copy.${copy}`, {
                  link: (text) => <TextLink href="/settings/privacy?tab=download">{text}</TextLink>,
                })}
              </p>
            )}
          </li>
        )
      })}
    </ul>
  )
}
