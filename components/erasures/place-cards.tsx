'use client'

import { clsx } from 'clsx'
import { CircleCheck } from 'lucide-react'
import { useFormatter, useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { useDataNames } from '#components/stores/data-names.ts'
import { ProgressBar } from '#components/ui/progress.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'

/** What an erasure has left to do in one place, as `readErasureProgress` returns it. */
export interface ErasurePlace {
  store: string
  records: number
  remaining: number
  held: number
  found_again: number | null
  waiting_since: string | null
  /** Its deletion stopped and waits for somebody. */
  has_stopped?: boolean
}

/** Milliseconds in which a shown number reaches its new value. */
const fall = 700

/**
 * A number that moves to its new value. It begins at `from`, so that a fast erasure can also be seen. With reduced motion it changes
 * at once.
 */
function useFallingNumber(value: number, from: number): number {
  const [shown, setShown] = useState(from)
  const current = useRef(from)
  useEffect(() => {
    const start = current.current
    const isReduced = window.matchMedia('(prefers-reduced-motion: reduce)').matches
    const began = performance.now()
    let frame = 0
    const draw = (now: number) => {
      const part = isReduced ? 1 : Math.min(1, Math.max(0, now - began) / fall)
      current.current = Math.round(start + (value - start) * part)
      setShown(current.current)
      if (part < 1) frame = requestAnimationFrame(draw)
    }
    frame = requestAnimationFrame(draw)
    return () => cancelAnimationFrame(frame)
  }, [value])
  return shown
}

const never = () => () => {}
/** Whether the server rendered the component: the page was opened or reloaded while the erasure may already have been running. */
export function useIsRendered(): boolean {
  const isRendered = useSyncExternalStore(
    never,
    () => false,
    () => true,
  )
  return useState(isRendered)[0]
}

interface PlaceCardProps {
  place: ErasurePlace
  badge?: ReactNode
  isOver: boolean
  hasFailed: boolean
}
function PlaceCard({ place, badge, isOver, hasFailed }: PlaceCardProps) {
  const { store, records, remaining, held, found_again, waiting_since, has_stopped } = place
  const t = useTranslations('erasurePlaces')
  const format = useFormatter()
  const { colon } = usePunctuation()
  const name = useDataNames().place(store)
  const isRendered = useIsRendered()
  const shown = useFallingNumber(remaining, isOver || isRendered ? remaining : records)
  // The text says "erased" only after the animated number has reached its end.
  const isErased = remaining === held && shown <= remaining
  const isClean = isErased && found_again === 0
  const isAmber = waiting_since !== null || (held > 0 && isErased)
  return (
    <li className="grid content-start gap-2 rounded-box border border-line bg-raised p-3">
      <p className="flex flex-wrap items-center justify-between gap-2">
        <bdi className="min-w-0 font-medium wrap-anywhere">{name}</bdi>
        {badge}
      </p>
      {records > 0 && (
        <>
          <p className="flex items-baseline gap-2">
            <span aria-hidden className="text-display font-semibold tabular-nums">
              {format.number(shown)}
            </span>
            <span aria-hidden className="text-sm text-quiet">
              {t('of', { records })}
            </span>
            <span className="sr-only">{t('remaining', { remaining, records })}</span>
          </p>
          <ProgressBar
            value={shown}
            max={records}
            label={t('bar', { name })}
            {...(isErased && held > 0 && { className: 'progress-held' })}
          />
        </>
      )}
      {/* Screen readers announce each change with the name of the place, but not each number. */}
      <p
        aria-live="polite"
        aria-atomic
        className={clsx(
          'text-sm',
          isAmber ? 'text-amber' : isClean ? 'flex items-center gap-1.5 font-medium text-green' : 'text-quiet',
        )}
      >
        {isClean && !isAmber && <CircleCheck aria-hidden className="size-4 shrink-0" />}
        <span className="sr-only">{`${name}${colon}`}</span>
        {waiting_since !== null
          ? t.rich('unavailable', { time: () => <Time at={waiting_since} /> })
          : isAmber
            ? t('held', { count: held })
            : !isErased
              ? t(hasFailed || has_stopped ? 'interrupted' : 'deleting')
              : found_again === null
                ? t('searching')
                : found_again === 0
                  ? t('nothing')
                  : t('again', { count: found_again })}
      </p>
    </li>
  )
}

/**
 * The places that hold data, each with its remaining records, which fall to zero. Needs the messages `erasurePlaces` and `dataNames`.
 * `badges`: further statuses by place. `isOver`: the page opened during the erasure or after it, so the numbers begin with the present ones.
 * `hasFailed`: nothing is being deleted now.
 */
export function PlaceCards({
  places,
  badges = {},
  isOver = false,
  hasFailed = false,
}: {
  places: readonly ErasurePlace[]
  badges?: Readonly<Record<string, ReactNode>>
  isOver?: boolean
  hasFailed?: boolean
}) {
  const t = useTranslations('erasurePlaces')
  return (
    <ul
      aria-label={t('label')}
      className="grid grid-cols-[minmax(0,1fr)] gap-3 sm:grid-cols-[repeat(auto-fill,minmax(13rem,1fr))]"
    >
      {places.map((place) => (
        <PlaceCard key={place.store} {...{ place, isOver, hasFailed }} badge={badges[place.store]} />
      ))}
    </ul>
  )
}
