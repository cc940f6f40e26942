'use client'

import { useNow, useTimeZone, useTranslations } from 'next-intl'
import { useId } from 'react'
import { localDayOf } from '#components/frame/local-time.ts'
import { Button } from './button.tsx'

/** Days as `2026-01-31`, both included; null leaves the side open. */
export interface DateRange {
  from: string | null
  to: string | null
}
interface DateRangePickerProps {
  label: string
  value: DateRange
  onChange: (range: DateRange) => void
  /** Days of the presets; a preset ends today. */
  presets?: readonly number[]
  min?: string
  max?: string
}

const inputLook = 'min-h-8 rounded-lg border border-edge bg-raised px-2 py-1 text-sm'

/** Two native date fields and presets ("Last 7 days"). Days are days in the reader's time zone. */
export function DateRangePicker({ label, value, onChange, presets = [1, 7, 30], min, max }: DateRangePickerProps) {
  const t = useTranslations('common.dates')
  const id = useId()
  const zone = useTimeZone() ?? 'UTC'
  const now = useNow()
  const today = localDayOf(now, zone)
  const daysAgo = (days: number) => localDayOf(new Date(now.getTime() - days * 86_400_000), zone)
  return (
    <fieldset className="flex min-w-0 flex-wrap items-center gap-2">
      <legend className="sr-only">{label}</legend>
      {(['from', 'to'] as const).map((side) => (
        <div key={side} className="flex items-center gap-1.5">
          <label htmlFor={`${id}-${side}`} className="text-sm text-quiet">
            {t(side)}
          </label>
          <input
            id={`${id}-${side}`}
            type="date"
            value={value[side] ?? ''}
            min={(side === 'to' ? value.from : null) ?? min}
            max={(side === 'from' ? value.to : null) ?? max}
            onChange={({ target }) => onChange({ ...value, [side]: target.value || null })}
            className={inputLook}
          />
        </div>
      ))}
      {presets.map((days) => {
        const from = daysAgo(days - 1)
        const isChosen = value.from === from && value.to === today
        return (
          <Button
            key={days}
            tone={isChosen ? 'accent' : 'quiet'}
            size="small"
            aria-pressed={isChosen}
            onClick={() => onChange(isChosen ? { from: null, to: null } : { from, to: today })}
          >
            {t('last', { days })}
          </Button>
        )
      })}
    </fieldset>
  )
}
