'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { Bars } from '#components/ui/chart.tsx'
import { useChartLabel } from '#components/ui/chart-label.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { RejectionSummary as Seen } from './endpoints.ts'

type Agent = Seen['agents'][number]
type Point = Seen['points'][number]
const stages = ['injection', 'invisible', 'html-comment', 'html-tag', 'nfc', 'secret'] as const
const stageOf = (name: string) => stages.find((stage) => stage === name) ?? 'other'
const tones = { quiet: 'neutral', near: 'warning', held: 'danger' } as const
const colours = {
  injection: 'red',
  invisible: 'accent',
  'html-comment': 'quiet',
  'html-tag': 'amber',
  nfc: 'quiet',
  secret: 'red',
  other: 'quiet',
} as const

/** Counts of rejected contributions over time, by check and by agent; never their contents. */
export function RejectionChart({ seen }: { seen: Seen }) {
  const t = useTranslations('safety.rejections')
  const format = useFormatter()
  const { step, points, by_stage, agents, agents_total, threshold } = seen
  const labelOf = useChartLabel(step)
  const inWords = (counts: Agent['by_stage']) =>
    Object.entries(counts)
      .sort(([, one], [, other]) => other - one)
      .map(([stage, count]) => `${t(`stages.${stageOf(stage)}`)} ${format.number(count)}`)
      .join(' · ')
  if (seen.total === 0)
    return (
      <EmptyState title={t('noneTitle')}>
        <p>{t('none')}</p>
      </EmptyState>
    )
  const ofAgents: ShownColumn<Agent>[] = [
    {
      key: 'agent',
      title: t('agent'),
      main: true,
      cell: ({ agent_id }) =>
        agent_id.startsWith('user:') ? (
          agent_id
        ) : (
          <TextLink href={`/admin/tokens/${encodeURIComponent(agent_id)}`}>{agent_id}</TextLink>
        ),
    },
    { key: 'count', title: t('count'), numeric: true, cell: ({ total }) => format.number(total) },
    { key: 'by', title: t('by'), cell: (agent) => inWords(agent.by_stage) },
    { key: 'last', title: t('last'), cell: ({ last_at }) => <Time at={last_at} show="relative" /> },
    {
      key: 'hour',
      title: t('lastHour'),
      numeric: true,
      cell: ({ last_hour }) => t('of', { count: last_hour, threshold }),
    },
    {
      key: 'standing',
      title: t('standing'),
      cell: ({ standing }) => (
        <Badge tone={tones[standing]} hasDot>
          {t(`standings.${standing}`)}
        </Badge>
      ),
    },
  ]
  const ofPoints: ShownColumn<Point>[] = [
    {
      key: 'at',
      title: t('at', { step }),
      main: true,
      cell: ({ at }) => (step === 'day' ? at.slice(0, 10) : <Time at={at} />),
    },
    { key: 'count', title: t('count'), numeric: true, cell: ({ total }) => format.number(total) },
    { key: 'by', title: t('by'), cell: (point) => inWords(point.by_stage) },
  ]
  return (
    <div className="grid gap-5">
      <p>{inWords(by_stage)}</p>
      <DataTable label={t('title')} columns={ofAgents} rows={agents} rowKey={({ agent_id }) => agent_id} />
      {agents_total > agents.length && (
        <p className="text-sm text-quiet">{t('more', { shown: agents.length, total: agents_total })}</p>
      )}
      <Bars
        label={t('chart')}
        unit={t('unit', { step })}
        data={points.map(({ at, by_stage: values }) => ({ label: labelOf(at), values }))}
        series={Object.keys(by_stage).map((key) => ({
          key,
          title: t(`stages.${stageOf(key)}`),
          tone: colours[stageOf(key)],
        }))}
      />
      <details>
        <summary className="cursor-pointer text-accent">{t('inNumbers')}</summary>
        <div className="mt-3">
          <DataTable
            label={t('inNumbers')}
            columns={ofPoints}
            rows={points.filter(({ total }) => total > 0).toReversed()}
            rowKey={({ at }) => at}
          />
        </div>
      </details>
    </div>
  )
}
