import { useFormatter, useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import { Badge } from '#components/ui/badge.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { isPseudonymized } from '#lib/domains/erasure/rules.ts'
import type { RunDetail } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { isStuck } from './fault-rules.ts'
import { PlaceCards } from './place-cards.tsx'
import {
  hasWork,
  heldOf,
  placeOf,
  progressOf,
  resultsOf,
  type ShownStep,
  type StepProgress as State,
  storeRows,
} from './store-rows.ts'

const tones = {
  waiting: 'neutral',
  blocked: 'warning',
  running: 'progress',
  done: 'progress',
  stuck: 'danger',
  undecided: 'warning',
  checked: 'neutral',
} as const

const StateBadge = ({ state, held }: { state: State; held: number }) => {
  const t = useTranslations('storeProgress.states')
  return <Badge tone={tones[state]}>{t(state === 'checked' && held > 0 ? 'checkedHeld' : state)}</Badge>
}

function Kind({ step }: { step: ShownStep }) {
  const t = useTranslations('storeProgress')
  const format = useFormatter()
  const names = useDataNames()
  const results = resultsOf([step])
  const held = heldOf(step)
  return (
    <li className="grid gap-1 py-2">
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <span className="grow">{names.erasedRecords(step.holder)}</span>
        <span className="text-sm text-quiet tabular-nums">
          {t(isPseudonymized(step.holder) ? 'pseudonymized' : 'deleted', {
            erased: step.erased,
            planned: step.planned + held,
          })}
        </span>
        <StateBadge state={progressOf(step)} held={held} />
      </p>
      {results.length > 0 && (
        <p className="text-sm text-quiet">
          {format.list(results.map(({ name, count }) => t(`results.${name}`, { count })))}
        </p>
      )}
      {step.waiting_since !== null && (
        <p className="text-sm text-amber">
          {t.rich('waitingForStore', { time: () => <Time at={step.waiting_since ?? ''} /> })}
        </p>
      )}
      {step.state === 'waiting' && step.fault !== null && step.waiting_since === null && (
        <p className="text-sm text-amber">{t('retried', { attempts: step.attempts, fault: step.fault })}</p>
      )}
      {held > 0 && <p className="text-sm text-amber">{t('held', { count: held })}</p>}
      {(step.residue ?? 0) > 0 && <p className="text-sm text-amber">{t('residue', { count: step.residue ?? 0 })}</p>}
    </li>
  )
}

interface StoreProgressProps {
  /** A running or finished erasure, as the API returns it. */
  run: Pick<RunDetail, 'state' | 'steps' | 'waits_for'>
}

/** Stores that do not answer: since when, and that the erasure continues without help. */
function UnavailableStores({ waits }: { waits: RunDetail['waits_for'] }) {
  const t = useTranslations('storeProgress')
  const names = useDataNames()
  return waits.map(({ store, since }) => (
    <p key={store} className="text-amber">
      {t.rich('storeDown', { store: names.place(store), time: () => <Time at={since} /> })}
    </p>
  ))
}

/** Progress of an erasure: a row of stores, and below it the data by kind. Needs the messages `storeProgress`, `erasurePlaces` and `dataNames`. */
export function StoreProgress({ run: { state, steps, waits_for } }: StoreProgressProps) {
  const t = useTranslations('storeProgress')
  const { list } = usePunctuation()
  const names = useDataNames()
  if (steps.length === 0)
    return (
      <>
        {waits_for.length === 0 && <p className="text-quiet">{t('planning')}</p>}
        <UnavailableStores waits={waits_for} />
      </>
    )
  const rows = storeRows(steps)
  const shown = rows.filter(hasWork)
  const emptyStores =
    state === 'planning' ? [] : rows.filter((row) => !hasWork(row)).map(({ store }) => names.place(store))
  const records = rows.reduce((sum, row) => sum + row.records, 0)
  const erased = rows.reduce((sum, row) => sum + row.erased, 0)
  const isThere = (step: ShownStep) =>
    step.planned > 0 || step.held.length > 0 || step.state === 'stuck' || step.waiting_since !== null
  const empty = steps.filter((step) => !isThere(step)).map(({ holder }) => names.erasedRecords(holder))
  return (
    <div className="grid gap-4">
      <p aria-live="polite">
        {records === 0
          ? state === 'planning'
            ? t('planning')
            : t('nothing')
          : t('summary', { erased, planned: records, stores: shown.length })}
      </p>
      <UnavailableStores waits={waits_for} />
      {shown.length > 0 && (
        <PlaceCards
          places={shown.map(placeOf)}
          isOver={state === 'done' || state === 'held'}
          hasFailed={state === 'failed'}
          badges={Object.fromEntries(shown.map((row) => [row.store, <StateBadge key={row.store} {...row} />]))}
        />
      )}
      {emptyStores.length > 0 && (
        <p className="text-sm text-quiet">{t('emptyStores', { stores: list(emptyStores) })}</p>
      )}
      {steps.some(isStuck) && <p className="text-red">{t('stuck')}</p>}
      {steps.some(isThere) && (
        <ul aria-label={t('kinds')} className="divide-y divide-line border-y border-line">
          {steps.filter(isThere).map((step) => (
            <Kind key={step.holder} step={step} />
          ))}
        </ul>
      )}
      {empty.length > 0 && (
        <details className="text-sm text-quiet">
          <summary className="cursor-pointer">{t('empty', { count: empty.length })}</summary>
          <p className="mt-1">{list(empty)}</p>
        </details>
      )}
    </div>
  )
}
