'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { issueOf } from '#components/frame/faults.ts'
import { useLeaveWarning } from '#components/frame/leave-warning.ts'
import { useStepUp } from '#components/frame/step-up.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { csvOf, saveCsv } from '#components/ui/csv.ts'
import { TextArea } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { saveFile } from '#components/ui/save-file.ts'
import { DataTable } from '#components/ui/table.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { type Endpoint, open, type ProblemDocument, RequestRefused } from '#lib/client/request.ts'
import type { StoreSearch, searchStores } from '#lib/domains/stores/contract.ts'

const searchAt: Endpoint<typeof searchStores> = {
  method: 'post',
  path: '/api/stores/search',
  produces: ['text/event-stream'],
}
type SearchedStore = StoreSearch['stores'][number]
type Place = StoreSearch['places'][number]

const placeKinds = [
  'thread',
  'row',
  'episode',
  'entity',
  'fact',
  'community',
  'saga',
  'node',
  'link',
  'key',
  'object',
] as const
const maxNames = 20
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The data of each server-sent event, as it arrives. */
async function* eventsIn(response: Response): AsyncGenerator<StoreSearch> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) return
    text += value
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) if (event.startsWith('data: ')) yield JSON.parse(event.slice('data: '.length))
  }
}

type Outcome = 'done' | 'stopped' | 'lost'

function useSearch() {
  const [search, setSearch] = useState<StoreSearch>()
  const [outcome, setOutcome] = useState<Outcome>()
  const [problem, setProblem] = useState<ProblemDocument>()
  const [isRunning, setRunning] = useState(false)
  const stopping = useRef<AbortController>(undefined)
  useEffect(() => () => stopping.current?.abort(), [])
  useLeaveWarning(isRunning)
  const stepUp = useStepUp()

  const begin = async (body: { names: string[] }) => {
    if (isRunning) return
    const stop = new AbortController()
    stopping.current = stop
    setSearch(undefined)
    setOutcome(undefined)
    setProblem(undefined)
    setRunning(true)
    try {
      const response = await stepUp(() => open(searchAt, { body }, { signal: stop.signal }))
      let last: StoreSearch | undefined
      for await (const event of eventsIn(response)) {
        last = event
        setSearch(event)
      }
      setOutcome(last?.state === 'done' ? 'done' : 'lost')
    } catch (error) {
      if (stop.signal.aborted) setOutcome('stopped')
      // Without the password, the search has not begun.
      else if (error instanceof RequestRefused)
        setProblem(error.problem.code === 'step_up_required' ? undefined : error.problem)
      else setOutcome('lost')
    } finally {
      setRunning(false)
    }
  }
  return { begin, stop: () => stopping.current?.abort(), search, outcome, problem, isRunning }
}

function Stores({ stores, isRunning }: { stores: readonly SearchedStore[]; isRunning: boolean }) {
  const t = useTranslations('storeSearch.stores')
  const unreadKinds = ['binary', 'large', 'format', 'slow'] as const
  const stateOf = ({ state, records, failure }: SearchedStore) => {
    if (state === 'failed') return t('states.failed', { reason: failure ?? '' })
    if (state === 'done') return t('states.done')
    if (!isRunning) return t('states.stopped')
    return t(records === 0 ? 'states.waiting' : 'states.searching')
  }
  const unreadOf = ({ unread }: SearchedStore) =>
    Object.entries(unread).map(
      ([kind, count]) => `${t(`unread.${unreadKinds.find((one) => one === kind) ?? 'other'}`)}: ${count}`,
    )
  return (
    <DataTable
      label={t('label')}
      rows={[...stores]}
      rowKey={({ store, address }) => `${store} ${address}`}
      columns={[
        {
          key: 'store',
          title: t('columns.store'),
          main: true,
          cell: ({ store, address, is_own: isOwn }) => (
            <span className="grid">
              {t(`kinds.${store}`)}
              <span className="text-sm text-quiet wrap-anywhere">{isOwn ? t('own') : address}</span>
            </span>
          ),
        },
        { key: 'state', title: t('columns.state'), value: stateOf },
        { key: 'records', title: t('columns.records'), numeric: true, value: ({ records }) => records },
        {
          key: 'unread',
          title: t('columns.unread'),
          value: (row) => [...unreadOf(row), ...row.skipped].join('; '),
          cell: (row) => (
            <ul className="grid gap-0.5">
              {[...unreadOf(row), ...row.skipped].map((line) => (
                <li key={line} className="wrap-anywhere">
                  {line}
                </li>
              ))}
            </ul>
          ),
        },
      ]}
    />
  )
}

function usePlaceColumns(): ShownColumn<Place>[] {
  const t = useTranslations('storeSearch')
  const kindOf = ({ kind }: Place) => {
    const known = placeKinds.find((one) => one === kind)
    return known ? t(`places.kinds.${known}`) : kind
  }
  return [
    {
      key: 'place',
      title: t('places.columns.place'),
      main: true,
      value: (place) => `${kindOf(place)} ${place.name}`,
      cell: (place) => (
        <span className="wrap-anywhere">
          {kindOf(place)} <code className="font-mono text-[0.8125rem]">{place.name}</code>
        </span>
      ),
    },
    { key: 'store', title: t('places.columns.store'), value: ({ store }) => t(`stores.kinds.${store}`) },
    { key: 'field', title: t('places.columns.field'), value: ({ field }) => field ?? '' },
    { key: 'matches', title: t('places.columns.matches'), numeric: true, value: ({ matches }) => matches },
    { key: 'possible', title: t('places.columns.possible'), numeric: true, value: ({ possible }) => possible },
  ]
}

function Result({ search }: { search: StoreSearch }) {
  const t = useTranslations('storeSearch')
  const columns = usePlaceColumns()
  const { stores, places, found } = search
  const sum = (of: 'matches' | 'possible') => places.reduce((all, place) => all + place[of], 0)
  const isComplete = stores.every(({ state }) => state === 'done')
  return (
    <>
      {stores.every(({ is_own: isOwn }) => isOwn) && (
        <Alert title={t('none.title')}>
          <p>
            {t('none.text')} <TextLink href="/admin/stores">{t('none.link')}</TextLink>
          </p>
        </Alert>
      )}
      {!isComplete && (
        <Alert tone="warning" title={t('result.failed')} isLive>
          <p>{t('result.failedText')}</p>
        </Alert>
      )}
      {found === 0 ? (
        <Alert tone={isComplete ? 'done' : 'info'} title={t('result.nothing')} isLive />
      ) : (
        <Alert title={t('result.found', { found })} isLive>
          <p>{t('result.counts', { matches: sum('matches'), possible: sum('possible') })}</p>
          <p>
            {t('result.erase')} <TextLink href="/admin/requests/new">{t('result.eraseLink')}</TextLink>
          </p>
        </Alert>
      )}
      {found > 0 && (
        <section className="grid gap-3" aria-label={t('places.label')}>
          <p className="text-quiet">
            {t('places.hint')}
            {places.length < found && <> {t('result.more', { shown: places.length })}</>}
          </p>
          <DataTable
            name="found-places"
            label={t('places.label')}
            columns={columns}
            rows={places}
            rowKey={({ store, kind, name, field }) => JSON.stringify([store, kind, name, field])}
          />
        </section>
      )}
      <div className="flex flex-wrap gap-2">
        {found > 0 && (
          <Button tone="plain" onClick={() => saveCsv('found-places', csvOf(columns, places))}>
            {t('places.save')}
          </Button>
        )}
        <Button
          tone="plain"
          onClick={() => saveFile('store-search.json', JSON.stringify(search, null, 2), 'application/json')}
        >
          {t('result.save')}
        </Button>
      </div>
    </>
  )
}

function Refusal({ problem }: { problem: ProblemDocument }) {
  const t = useTranslations('storeSearch.result')
  if (problem.code === 'conflict') return <Alert tone="warning" title={t('busy')} isLive />
  if (problem.code === 'approval_required') return <Alert tone="warning" title={t('approvals')} isLive />
  return <ProblemAlert problem={problem} />
}

/** Searches the connected stores while the page is open. What was typed is not kept in the browser: it names a person. */
export function StoreSearchPage() {
  const t = useTranslations('storeSearch')
  const [names, setNames] = useState('')
  const [isMissing, setMissing] = useState(false)
  const { begin, stop, search, outcome, problem, isRunning } = useSearch()
  const body = { names: linesOf(names) }
  const fault = (lines: readonly string[], most: number) => {
    if (lines.length > most) return t('form.tooMany', { most })
    return lines.some((line) => line.length < 2) ? t('form.short') : undefined
  }
  const isUnclear = issueOf(problem, 'names') !== undefined
  const missing = isMissing && body.names.length === 0 ? t('form.missing') : undefined
  const namesFault = missing ?? fault(body.names, maxNames) ?? (isUnclear ? t('form.unclear') : undefined)
  return (
    <>
      <FormBox
        name="store-search"
        submit={t('form.submit')}
        isPending={isRunning}
        onSubmit={() => {
          setMissing(true)
          if (body.names.length > 0 && !fault(body.names, maxNames)) void begin(body)
        }}
      >
        <TextArea
          label={t('form.names')}
          hint={t('form.namesHint')}
          rows={3}
          autoComplete="off"
          spellCheck={false}
          value={names}
          onChange={({ target }) => setNames(target.value)}
          error={namesFault}
        />
      </FormBox>
      {problem && !isUnclear && <Refusal problem={problem} />}
      {outcome === 'stopped' && <Alert title={t('result.stopped')} isLive />}
      {outcome === 'lost' && <Alert tone="warning" title={t('result.lost')} isLive />}
      {isRunning && (
        <section className="grid gap-3" aria-label={t('running.title')}>
          <div className="flex flex-wrap items-center gap-3">
            <p className="font-medium" role="status">
              {t('running.found', { found: search?.found ?? 0 })}
            </p>
            <Button tone="plain" size="small" onClick={stop}>
              {t('running.stop')}
            </Button>
          </div>
          <ProgressBar value={0} max={0} label={t('running.title')} />
          <p className="text-quiet">{t('running.leave')}</p>
        </section>
      )}
      {search && outcome === 'done' && <Result search={search} />}
      {search && search.stores.length > 0 && <Stores stores={search.stores} isRunning={isRunning} />}
    </>
  )
}
