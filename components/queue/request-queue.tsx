'use client'

import dynamic from 'next/dynamic'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useQueryStates } from 'nuqs'
import { useMemo, useState } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Button } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { type BulkAct, bulkActs, isWorded, type WordedAct } from './acts.ts'
import { type BulkWords, mostAtOnce, useBulk } from './bulk.ts'
import { useChosen } from './chosen.ts'
import { listAllRequestsAt, type Minder, type RequestPage } from './endpoints.ts'
import {
  addressOf,
  isQueueFiltered,
  queueFilterParsers,
  queueQueryOf,
  queueViews,
  type RequestQuery,
} from './filters.ts'
import { QueueFilters } from './queue-filters.tsx'
import { QueueTable, requestHref } from './queue-table.tsx'

const DuePicture = dynamic(() => import('./due-picture.tsx').then(({ DuePicture: Picture }) => Picture), {
  ssr: false,
  loading: () => <Skeleton className="h-21" />,
})
const bulkDialog = () => import('./bulk-dialog.tsx')
const bulkResult = () => import('./bulk-result.tsx')
const acts = ['assign', 'expedite', 'pause', 'resume', 'retry', 'comment'] as const satisfies readonly BulkAct[]
const noWords: BulkWords = { text: '', dropCopies: false }
const Key = (text: React.ReactNode) => <kbd className="font-mono text-ink">{text}</kbd>

interface RequestQueueProps {
  initial: RequestPage
  /** The query that `initial` answers. */
  initialFilters: RequestQuery
  me: string
  minders: readonly Minder[]
}

/** The request queue: sorted by due date, with bulk actions, usable by keyboard only. */
export function RequestQueue({ initial, initialFilters, me, minders }: RequestQueueProps) {
  const t = useTranslations('queue')
  const router = useRouter()
  const [filters, setFilters] = useQueryStates(queueFilterParsers)
  const query = queueQueryOf(filters, me)
  const isAsked = JSON.stringify(query) === JSON.stringify(initialFilters)
  const list = useApiInfiniteQuery(listAllRequestsAt, { query }, isAsked ? { initial } : {})
  const { rows } = list
  const ids = useMemo(() => rows.map(({ id }) => id), [rows])
  const { chosen, toggle, range, toggleAll, only } = useChosen(ids)
  const bulk = useBulk(me)
  const [asking, setAsking] = useState<WordedAct>()
  const dialog = useLoaded(bulkDialog, asking !== undefined)
  const shown = useLoaded(bulkResult, bulk.result !== undefined)
  const [lacksChoice, setLacksChoice] = useState(false)

  const open = (index: number) => {
    const row = rows[index]
    if (row) router.push(requestHref(row))
  }
  const { cursor } = useRowKeys({ count: rows.length, onOpen: open })
  const atHand = rows[cursor]
  // The selected rows, otherwise the current row.
  const meant = chosen.size > 0 ? rows.filter(({ id }) => chosen.has(id)) : atHand ? [atHand] : []

  const carryOut = (act: BulkAct, words: BulkWords, done = () => {}) =>
    bulk.begin(act, meant, words, ({ outcomes }) => {
      // Failed requests stay selected, because they need another look.
      only(outcomes.flatMap(({ request, outcome }) => (outcome.ok ? [] : [request.id])))
      done()
    })
  const begin = (act: BulkAct) => {
    setLacksChoice(meant.length === 0)
    if (meant.length === 0 || meant.length > mostAtOnce) return
    bulk.reset()
    if (isWorded(act)) setAsking(act)
    else carryOut(act, noWords)
  }
  useKeys([
    { key: 'x', label: t('keyLabels.choose'), run: () => atHand && toggle(atHand.id) },
    { key: 'X', label: t('keyLabels.range'), run: () => atHand && range(atHand.id) },
    { key: 'A', label: t('keyLabels.all'), run: toggleAll },
    ...acts.map((act) => ({ key: bulkActs[act], label: t(`keyLabels.${act}`), run: () => begin(act) })),
    { key: 'n', label: t('keyLabels.file'), run: () => router.push('/admin/requests/new') },
    { key: 'Escape', label: t('keyLabels.none'), run: () => only([]) },
  ])

  return (
    <div className="grid gap-6">
      <Tabs
        label={t('views.label')}
        tabs={queueViews.map((view) => ({
          href: addressOf('/admin/requests', { ...filters, open: view }),
          title: t(`views.${view}`),
          isCurrent: filters.open === view,
        }))}
      />
      <QueueFilters filters={filters} change={setFilters} minders={minders} me={me} />
      {rows.length > 1 && filters.open !== 'false' && <DuePicture requests={rows} />}
      {bulk.result && shown && <shown.BulkResultView result={bulk.result} close={bulk.close} />}
      {bulk.problem && !asking && <ProblemAlert problem={bulk.problem} />}
      {list.isLoading ? (
        <Skeleton className="h-72" />
      ) : rows.length === 0 && !list.problem ? (
        <Empty title={t('empty.title')}>
          <p>{t(isQueueFiltered(filters) ? 'empty.filtered' : 'empty.open')}</p>
        </Empty>
      ) : (
        <>
          <QueueTable {...{ rows, me, cursor, chosen, toggle, toggleAll }} />
          <MoreButton pages={list} />
        </>
      )}
      <p className="text-sm text-quiet max-sm:hidden">{t.rich('keys', { key: Key })}</p>
      {lacksChoice && meant.length === 0 && (
        <p role="status" className="text-sm text-amber">
          {t.rich('noneChosen', { key: Key })}
        </p>
      )}
      {chosen.size > 0 && (
        <section
          aria-label={t('chosenBar.label')}
          className="sticky bottom-3 flex flex-wrap items-center gap-2 rounded-box border border-edge bg-raised px-4 py-3"
        >
          <p className="mr-auto font-medium">
            {bulk.current
              ? t('result.busy', { action: t(`acts.${bulk.current}`), count: chosen.size })
              : t('chosenBar.text', { count: chosen.size })}
          </p>
          {chosen.size > mostAtOnce && <p className="text-sm text-amber">{t('chosenBar.tooMany')}</p>}
          {acts.map((act) => (
            <Button
              key={act}
              tone="plain"
              size="small"
              aria-keyshortcuts={bulkActs[act]}
              aria-disabled={bulk.isPending || chosen.size > mostAtOnce}
              onClick={() => begin(act)}
            >
              {t(`acts.${act}`)}
              <kbd aria-hidden className="font-mono text-quiet max-sm:hidden">
                {bulkActs[act]}
              </kbd>
            </Button>
          ))}
          <Button tone="ghost" size="small" onClick={() => only([])}>
            {t('chosenBar.clear')}
          </Button>
        </section>
      )}
      {asking && dialog && (
        <dialog.BulkDialog
          key={asking}
          act={asking}
          count={meant.length}
          change={bulk}
          begin={(words, done) => carryOut(asking, words, done)}
          close={() => setAsking(undefined)}
        />
      )}
    </div>
  )
}
