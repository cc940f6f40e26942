'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useDataNames } from '#components/stores/data-names.ts'
import { Badge } from '#components/ui/badge.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Section } from '#components/ui/page.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { erasureAt, type Run } from './endpoints.ts'
import { mentionKind, wereNamesSearched } from './mention-rules.ts'

const atOnce = 200

/**
 * Records of others that still contain names of people deleted by the erasure. Renders nothing if nobody searched. Needs the messages
 * `storeProgress`.
 */
export function Mentions({ run }: { run: Pick<Run, 'state' | 'steps' | 'remaining_mentions'> }) {
  const t = useTranslations('storeProgress.mentions')
  const names = useDataNames()
  const mentions = run.remaining_mentions
  if (mentions.length === 0 && !wereNamesSearched(run)) return null
  const called = (kind: string): string => {
    const key = mentionKind(kind)
    return key ? t(`kinds.${key}`) : kind
  }
  return (
    <Section id="mentions" title={t('title')}>
      {mentions.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <div className="grid gap-3">
          <p>{t('lead', { count: mentions.length })}</p>
          <DataTable
            label={t('title')}
            rows={mentions.slice(0, atOnce)}
            rowKey={({ store, kind, id, field }) => `${store} ${kind} ${id} ${field}`}
            columns={[
              {
                key: 'where',
                title: t('columns.where'),
                main: true,
                cell: ({ store, kind }) => `${called(kind)} · ${names.place(store)}`,
              },
              { key: 'id', title: t('columns.id'), cell: ({ id }) => <CopyableId id={id} what={t('columns.id')} /> },
              {
                key: 'field',
                title: t('columns.field'),
                cell: ({ field }) => <code className="font-mono text-[0.8125rem]">{field}</code>,
              },
              {
                key: 'state',
                title: t('columns.state'),
                cell: ({ is_redacted }) => (
                  <Badge tone={is_redacted ? 'progress' : 'warning'}>{t(is_redacted ? 'redacted' : 'stays')}</Badge>
                ),
              },
            ]}
          />
          {mentions.length > atOnce && (
            <p className="text-sm text-quiet">{t('more', { count: mentions.length - atOnce })}</p>
          )}
        </div>
      )}
    </Section>
  )
}

/** {@link Mentions} for a page that has only the steps of an erasure: loads the rest once it is over. */
export function MentionsOf({ runId, isOver }: { runId: string; isOver: boolean }) {
  const { data } = useApiQuery(erasureAt, { params: { id: runId } }, { enabled: isOver })
  return data ? <Mentions run={data.data} /> : null
}
