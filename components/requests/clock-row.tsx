import { useTranslations } from 'next-intl'
import { ProgressBar } from '#components/ui/progress.tsx'
import { Time } from '#components/ui/time.tsx'
import { useSpanWords } from './time-left.tsx'
import { handOf, spanOf, toneOfTimeLeft } from './time-left-rules.ts'

const textTones = { plain: undefined, amber: 'text-amber', red: 'text-red' } as const

interface ClockRowProps {
  name: string
  /** The time limit in words. */
  text: string
  from: string
  until: string
  now: Date
  /** The clock is neither paused nor stopped. */
  runs: boolean
}
/** One time limit: its date, the remaining time and the elapsed share. */
export function ClockRow({ name, text, from, until, now, runs }: ClockRowProps) {
  const t = useTranslations('requests')
  const words = useSpanWords()
  const { elapsed, secondsLeft } = handOf(from, until, now)
  const left = t(`due.${secondsLeft < 0 ? 'over' : 'left'}`, { left: words(spanOf(secondsLeft)) })
  return (
    <div className="grid gap-1.5 py-3">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className="grow font-medium">{name}</span>
        {runs && <span className={textTones[toneOfTimeLeft(secondsLeft)]}>{left}</span>}
        <Time at={until} />
      </p>
      {runs && <ProgressBar value={elapsed} max={1} label={t('request.elapsed', { name, left })} />}
      <p className="text-sm text-quiet">{text}</p>
    </div>
  )
}
