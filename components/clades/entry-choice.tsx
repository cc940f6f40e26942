import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Time } from '#components/ui/time.tsx'
import { decideGate } from '#lib/domains/clades/rules.ts'
import { sharingPage } from './clades.ts'
import type { ListedShareable } from './entry-excerpt.ts'

/** Entries that can be shared with siblings. Each links to a preview of its share. */
export function EntryChoice({ agentId, rows }: { agentId: string; rows: readonly ListedShareable[] }) {
  const t = useTranslations('agentSharing.entries')
  const kinds = useTranslations('agentSharing.entryKinds')
  return (
    <ul className="grid">
      {rows.map(({ id, kind, confidence, excerpt, created_at }) => (
        <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line py-3 last:border-0">
          <div className="grid min-w-0 grow basis-64 gap-1">
            <p className="[overflow-wrap:anywhere]">
              <bdi>{excerpt}</bdi>
            </p>
            <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-quiet">
              <span>
                {kinds(kind)} · {t('confidence', { confidence })} · <Time at={created_at} />
              </span>
              {!decideGate(kind, confidence).passes && (
                <Badge tone="warning">{t('unsure', { needed: decideGate(kind, confidence).needed })}</Badge>
              )}
            </p>
          </div>
          <ButtonLink
            href={sharingPage(agentId, { entry: id })}
            tone="plain"
            size="small"
            aria-label={t('previewNamed', { excerpt })}
          >
            {t('preview')}
          </ButtonLink>
        </li>
      ))}
    </ul>
  )
}
