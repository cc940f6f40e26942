'use client'

import { Stamp } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { PlaceCards } from '#components/erasures/place-cards.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import type { ErasureProgress } from '#lib/domains/erasure/contract.ts'

const soon = 2_000
const later = 15_000
/** After this time the page asks less often. */
const patience = 120_000
/** Milliseconds between two looks at the clock, and the gap that means that the device slept. */
const beat = 2_000
const asleep = 20_000
/** Milliseconds for which the result stays visible before the receipt replaces it. */
const resultShown = 2_000

/** The progress as the API returns it. Undefined if there is none, or if the server does not answer. */
async function progressOf(receiptId: string | undefined): Promise<ErasureProgress | undefined> {
  if (receiptId === undefined) return undefined
  const response = await fetch(`/v1/receipts/${receiptId}/progress`).catch(() => undefined)
  if (!response?.ok) return undefined
  const { data } = (await response.json()) as { data: ErasureProgress }
  return data
}

/**
 * Counts how often the device or the page slept. The connection of a stream may be dead after a sleep, and the browser does not learn of it
 * as long as nothing is sent.
 */
function useWakes(): number {
  const [wakes, setWakes] = useState(0)
  useEffect(() => {
    let last = Date.now()
    const timer = setInterval(() => {
      const now = Date.now()
      if (now - last > asleep) setWakes((count) => count + 1)
      last = now
    }, beat)
    return () => clearInterval(timer)
  }, [])
  return wakes
}

/**
 * Shows a deletion while it runs: each place with its remaining records, the second search, and the seal. It then asks the server, which
 * redirects to the receipt. Where the events do not arrive, the page asks for the progress. `receiptId`: the id that the receipt
 * will have, if it is known.
 */
export function DeletionProgress({ receiptId, isSlow = false }: { receiptId: string | undefined; isSlow?: boolean }) {
  const t = useTranslations('deletion.done')
  const router = useRouter()
  const [progress, setProgress] = useState<ErasureProgress>()
  const [isFollowed, setFollowed] = useState(false)
  const isOver = progress?.state === 'done'
  const wakes = useWakes()

  // biome-ignore lint/correctness/useExhaustiveDependencies: after a sleep the events come from a new connection, which begins with the present progress
  useEffect(() => {
    if (receiptId === undefined || isOver) return
    const events = new EventSource(`/v1/receipts/${receiptId}/progress/events`)
    events.onmessage = ({ data }) => {
      setFollowed(true)
      setProgress(JSON.parse(data) as ErasureProgress)
    }
    // A browser connects again after a lost connection or ten minutes. It does not after a refusal.
    events.onerror = () => setFollowed(false)
    return () => events.close()
  }, [receiptId, isOver, wakes])

  // Once after the result was visible, and then now and then: before the start, somebody may cancel the deletion elsewhere.
  useEffect(() => {
    if (!isFollowed) return
    const first = setTimeout(() => router.refresh(), isOver ? resultShown : later)
    const next = setInterval(() => router.refresh(), later)
    return () => {
      clearTimeout(first)
      clearInterval(next)
    }
  }, [router, isFollowed, isOver])

  useEffect(() => {
    if (isFollowed) return
    const started = Date.now()
    let timer: ReturnType<typeof setTimeout>
    let isClosed = false
    const ask = async () => {
      const read = document.visibilityState === 'visible' && !isOver ? await progressOf(receiptId) : undefined
      if (isClosed) return
      if (read) setProgress(read)
      // A result stays visible until the next time.
      if (read?.state !== 'done' && document.visibilityState === 'visible') router.refresh()
      timer = setTimeout(() => void ask(), !isSlow && Date.now() - started < patience ? soon : later)
    }
    timer = setTimeout(() => void ask(), isSlow ? later : soon)
    return () => {
      isClosed = true
      clearTimeout(timer)
    }
  }, [router, receiptId, isSlow, isFollowed, isOver])

  if (!progress || progress.places.length === 0)
    return <ProgressBar value={0} max={0} label={t('states.running.title')} />
  return (
    <div className="grid gap-4">
      <PlaceCards places={progress.places} hasFailed={progress.state === 'failed'} />
      <p role="status" className="flex min-h-8 items-center gap-2 font-medium">
        {isOver && (
          <>
            <Stamp aria-hidden className="size-6 text-green motion-safe:animate-[settle_400ms_ease-out]" />
            {t('sealed')}
          </>
        )}
      </p>
    </div>
  )
}
