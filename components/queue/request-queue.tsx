'use client'

import dynamic from 'next/dynamic'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useMemo, useState } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useLoaded } from '#components/ui/loaded.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { useSelection } from '#components/ui/selection.ts'
import { type BulkAct, bulkActs, isWorded, type WordedAct } from './acts.ts'
import { type BulkWords, maxAtOnce, useBulk } from './bulk.ts'
import { ClosedMatches } from './closed-matches.tsx'
import { listAllRequestsAt, type Minder, type RequestPage } from './endpoints.ts'
import { queueFilterParsers, queueQueryOf, type RequestQuery } from './filters.ts'
import { QueueBulkBar } from './queue-bulk-bar.tsx'
import { QueueFilters } from './queue-filters.tsx'
import { QueueTable, requestHref } from './queue-table.tsx'

const DuePicture = dynamic(() => import('./due-picture.tsx').then(({ DuePicture: Picture }) => Picture), {
  ssr: false,
  loading: () => <div className="h-14 max-sm:hidden" />,
})
const bulkDialog = () => import('./bulk-dialog.tsx')
const bulkResult = () => import('./bulk-result.tsx')
/** A ref that loads the code of a request's page when the pointer or the focus reaches the list, so that nothing on that page moves. */
function preloadWhenNear(list: HTMLElement | null) {
  const reached = new AbortController()
  const preload = () => {
    reached.abort()
    import('./request-later.tsx').then(({ preloadRequest }) => preloadRequest()).catch(() => {})
  }
  for (const event of ['pointerover', 'focusin']) list?.addEventListener(event, preload, { signal: reached.signal })
  return () => reached.abort()
}
const noWords: BulkWords = { text: '', dropCopies: false }

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
  const common = useTranslations('common')
  const router = useRouter()
  const [filters, setFilters] = useQueryStates(queueFilterParsers)
  const query = queueQueryOf(filters, me)
  const isAsked = JSON.stringify(query) === JSON.stringify(initialFilters)
  const list = useApiInfiniteQuery(listAllRequestsAt, { query }, isAsked ? { initial } : {})
  const { rows } = list
  const selection = useSelection(useMemo(() => rows.map(({ id }) => id), [rows]))
  const { chosen } = selection
  const bulk = useBulk(me)
  const [asking, setAsking] = useState<WordedAct>()
  const dialog = useLoaded(bulkDialog, asking !== undefined)
  const shown = useLoaded(bulkResult, bulk.result !== undefined)
  const [lacksChoice, setLacksChoice] = useState(false)

  const { cursor } = useRowKeys({
    count: rows.length,
    onOpen: (index) => {
      const row = rows[index]
      if (row) router.push(requestHref(row))
    },
  })
  const atHand = rows[cursor]
  // The selected rows, otherwise the current row.
  const meant = chosen.size > 0 ? rows.filter(({ id }) => chosen.has(id)) : atHand ? [atHand] : []

  const carryOut = (act: BulkAct, words: BulkWords, done = () => {}) =>
    bulk.begin(act, meant, words, ({ outcomes }) => {
      // Failed requests stay selected, because they need another look.
      selection.only(outcomes.flatMap(({ request, outcome }) => (outcome.ok ? [] : [request.id])))
      done()
    })
  const begin = (act: BulkAct) => {
    setLacksChoice(meant.length === 0)
    if (meant.length === 0 || meant.length > maxAtOnce) return
    bulk.reset()
    if (isWorded(act)) setAsking(act)
    else carryOut(act, noWords)
  }
  useKeys([
    { key: 'x', label: t('keys.choose'), run: () => atHand && selection.toggle(atHand.id) },
    { key: 'X', label: t('keys.range'), run: () => atHand && selection.range(atHand.id) },
    { key: 'A', label: t('keys.all'), run: selection.toggleAll },
    ...bulkActs.map(({ act, key, label }) => ({ key, label: t(`acts.${label}`), run: () => begin(act) })),
    { key: 'Escape', label: common('clearSelection'), run: selection.clear },
    { key: 'n', label: t('new'), run: () => router.push('/admin/requests/new') },
  ])

  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4" ref={preloadWhenNear}>
      {rows.length > 1 && filters.open !== 'false' && <DuePicture requests={rows} />}
      {bulk.result && shown && <shown.BulkResultView result={bulk.result} close={bulk.close} />}
      {bulk.problem && !asking && <ProblemAlert problem={bulk.problem} />}
      <QueueTable
        list={list}
        me={me}
        cursor={cursor}
        selection={selection}
        filters={filters}
        change={setFilters}
        toolbar={
          <div className="grid gap-2">
            <QueueFilters filters={filters} change={setFilters} minders={minders} me={me} />
            <ClosedMatches filters={filters} query={query} />
            {filters.sort === 'due' && rows.some(({ due }) => due === 'paused') && (
              <p className="text-sm text-quiet">{t('pausedLast')}</p>
            )}
          </div>
        }
        bulk={<QueueBulkBar count={chosen.size} busy={bulk.current} onAct={begin} onClear={selection.clear} />}
      />
      {lacksChoice && meant.length === 0 && (
        <p role="status" className="text-sm text-amber">
          {t.rich('noneChosen', { key: (text) => <kbd className="font-mono text-ink">{text}</kbd> })}
        </p>
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
