'use client'

import { clsx } from 'clsx'
import { useEffect, useRef, useState } from 'react'
import type { BarsProps, ChartTone } from './chart-bars.tsx'
import { useLoaded } from './loaded.ts'

// The chart library is large and no page depends on it: it loads when a chart is about to scroll into view.
const drawn = () => import('./chart-bars.tsx')
const ahead = '400px 0px'

const swatches: Record<ChartTone, string> = {
  accent: 'bg-accent',
  quiet: 'bg-quiet',
  green: 'bg-green',
  amber: 'bg-amber',
  red: 'bg-red',
}

/** A bar chart with the unit above its axis, a legend if it has several series, and its numbers as a text alternative. */
export function Bars(props: BarsProps) {
  const { data, series, unit, label } = props
  const place = useRef<HTMLDivElement>(null)
  const [isInView, setIsInView] = useState(false)
  const loaded = useLoaded(drawn, isInView)
  useEffect(() => {
    if (!place.current) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting) return
        setIsInView(true)
        observer.disconnect()
      },
      { rootMargin: ahead },
    )
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  const words = data
    .filter(({ values }) => series.some(({ key }) => (values[key] ?? 0) > 0))
    .map((item) => `${item.label}: ${series.map(({ key, title }) => `${title} ${item.values[key] ?? 0}`).join(', ')}`)
  return (
    <figure className="grid min-w-0 gap-2">
      {(unit || series.length > 1) && (
        <figcaption className="flex flex-wrap items-center gap-x-5 gap-y-1 text-sm text-quiet">
          {unit && <span>{unit}</span>}
          {series.length > 1 &&
            series.map(({ key, title, tone }) => (
              <span key={key} className="inline-flex items-center gap-1.5">
                <span aria-hidden className={clsx('size-2.5 rounded-[3px]', swatches[tone])} />
                {title}
              </span>
            ))}
        </figcaption>
      )}
      <div
        ref={place}
        role="img"
        aria-label={words.length === 0 ? label : `${label}. ${words.join('; ')}`}
        className="h-56 w-full"
      >
        {loaded ? <loaded.DrawnBars {...props} /> : <PlainBars {...props} />}
      </div>
    </figure>
  )
}

/** The bars without axes and colors, until the chart library has loaded. */
function PlainBars({ data, series, isGrouped = false }: BarsProps) {
  const sizes = data.map(({ values }) => {
    const each = series.map(({ key }) => values[key] ?? 0)
    return isGrouped ? Math.max(0, ...each) : each.reduce((sum, value) => sum + value, 0)
  })
  const top = Math.max(1, ...sizes)
  return (
    <svg
      viewBox={`0 0 ${Math.max(1, data.length)} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="h-full w-full fill-line py-4"
    >
      {data.map(({ label }, index) => {
        const height = (sizes[index] ?? 0) / top
        return <rect key={label} x={index + 0.15} y={1 - height} width={0.7} height={height} />
      })}
    </svg>
  )
}

interface SparklineProps {
  values: readonly number[]
  /** Drawn as a dashed line. Say what it is in the label and beside the chart. */
  limit?: number
  /** What is drawn, with the newest or highest number. */
  label: string
}
/** A small line chart without axes, for a trend beside its number. */
export function Sparkline({ values, limit, label }: SparklineProps) {
  const top = Math.max(1, limit ?? 0, ...values)
  const [width, height] = [96, 24]
  const x = (index: number) => (values.length > 1 ? (index / (values.length - 1)) * width : width / 2)
  const y = (value: number) => height - 1 - (value / top) * (height - 2)
  const points = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} className="h-6 w-24 overflow-visible">
      {limit !== undefined && (
        <line x1="0" x2={width} y1={y(limit)} y2={y(limit)} className="stroke-amber" strokeDasharray="3 2" />
      )}
      <polyline points={points} fill="none" className="stroke-accent" strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  )
}
