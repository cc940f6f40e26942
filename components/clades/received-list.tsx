import { useTranslations } from 'next-intl'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { type ReceivedShare, sharingPage } from './clades.ts'
import { MarkedJson } from './marked-json.tsx'

/** Entries that the agent received from siblings, in order of arrival. */
export function ReceivedList({
  rows,
  names,
}: {
  rows: readonly ReceivedShare[]
  names: Readonly<Record<string, string>>
}) {
  const t = useTranslations('agentSharing.received')
  const kinds = useTranslations('agentSharing.entryKinds')
  return (
    <ul className="grid gap-3">
      {rows.map(({ seq, share_id, from, payload, shared_at }) => (
        <li key={seq} className="grid gap-2 rounded-box border border-line bg-raised px-4 py-3">
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="font-medium">{payload ? kinds(payload.kind) : t('gone')}</span>
            <CopyableId id={share_id} what={t('id')} />
          </div>
          <p className="text-sm text-quiet">
            {from === null
              ? t('fromNobody')
              : t.rich('from', {
                  sender: () => (
                    <TextLink href={sharingPage(from, { share: share_id })}>
                      <bdi>{names[from] ?? from}</bdi>
                    </TextLink>
                  ),
                })}
            {shared_at !== null && (
              <>
                {' · '}
                <Time at={shared_at} relative />
              </>
            )}
            {payload && ` · ${t('confidence', { confidence: payload.confidence })}`}
          </p>
          {payload && (
            <details>
              <summary className="cursor-pointer text-accent">{t('content')}</summary>
              <div className="mt-2">
                <MarkedJson value={payload} label={t('content')} />
              </div>
            </details>
          )}
        </li>
      ))}
    </ul>
  )
}
