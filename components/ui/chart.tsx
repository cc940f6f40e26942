'use client'

import dynamic from 'next/dynamic'
import { useEffect, useRef, useState } from 'react'
import type { BarsProps } from './chart-bars.tsx'
import { Skeleton } from './skeleton.tsx'

// The chart library is large and no page depends on it: it loads when a chart scrolls into view.
const DrawnBars = dynamic(() => import('./chart-bars.tsx').then(({ DrawnBars: Drawn }) => Drawn), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
})

export function Bars(props: BarsProps) {
  const place = useRef<HTMLDivElement>(null)
  const [isInView, setIsInView] = useState(false)
  useEffect(() => {
    if (!place.current) return
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return
      setIsInView(true)
      observer.disconnect()
    })
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={place} role="img" aria-label={props.label} className="h-56 w-full">
      {isInView && <DrawnBars {...props} />}
    </div>
  )
}

interface SparklineProps {
  values: readonly number[]
  /** Drawn as a line. */
  limit?: number
  label: string
}
/** A small line chart, optionally with a limit line. Too small to need a library. */
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
