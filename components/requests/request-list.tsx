'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { listOwnRequestsAt, type Requests } from './requests.ts'
import { TimeLeft } from './time-left.tsx'

type Row = Requests['data'][number]
const placeOf = ({ id }: Row) => `/settings/privacy/requests/${id}`

/** The requests of a person, newest first. */
export function OwnRequestList({ initial }: { initial: Requests }) {
  const t = useTranslations('requests')
  const pages = useApiInfiniteQuery(listOwnRequestsAt, { query: { limit: 50 } }, { initial })
  const { cursor } = useRowKeys({ count: pages.rows.length })
  if (pages.rows.length === 0)
    return (
      <Empty title={t('empty.title')} action={<ButtonLink href="/settings/privacy">{t('empty.action')}</ButtonLink>}>
        <p>{t('empty.text')}</p>
      </Empty>
    )
  return (
    <div className="grid gap-4">
      <DataTable
        label={t('label')}
        cursor={cursor}
        rows={pages.rows}
        rowKey={({ id }) => id}
        open={placeOf}
        columns={[
          {
            key: 'kinds',
            title: t('columns.kinds'),
            main: true,
            cell: (row) => (
              <TextLink href={placeOf(row)}>{row.kinds.map((kind) => t(`kinds.${kind}`)).join(', ')}</TextLink>
            ),
          },
          {
            key: 'about',
            title: t('columns.about'),
            cell: ({ agent_id, subject, for_member }) =>
              for_member ? t('about.member') : (agent_id ?? t(subject === 'person' ? 'about.you' : `about.${subject}`)),
          },
          { key: 'state', title: t('columns.state'), cell: ({ state }) => t(`states.${state}`) },
          { key: 'due', title: t('columns.due'), cell: (row) => <TimeLeft {...row} /> },
          { key: 'received', title: t('columns.received'), cell: ({ received_at }) => <Time at={received_at} /> },
        ]}
      />
      <MoreButton pages={pages} />
    </div>
  )
}
