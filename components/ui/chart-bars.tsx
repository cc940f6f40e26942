'use client'

import { Bar, BarChart, CartesianGrid, ReferenceLine, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'

export type ChartTone = 'accent' | 'quiet' | 'green' | 'amber' | 'red'
export interface BarsProps {
  /** One bar or group of bars for each item, with `label` below it. */
  data: readonly { label: string; values: Readonly<Record<string, number>> }[]
  series: readonly { key: string; title: string; tone: ChartTone }[]
  /** What the bars count: "Requests per hour". It is the title of the vertical axis. */
  unit?: string
  /** Draws the series side by side instead of stacked. */
  isGrouped?: boolean
  /** A horizontal line that marks the limit. */
  limit?: { value: number; title: string }
  /** Describes the chart for screen readers. The numbers are also given beside it, in words or in a table. */
  label: string
}

const ink = 'var(--quiet)'
const small = { fontSize: 12, fill: ink }
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Draws the bars with Recharts; see {@link BarsProps}. */
export function DrawnBars({ data, series, isGrouped = false, limit }: BarsProps) {
  const rows = data.map(({ label, values }) => ({ label, ...values }))
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={rows} margin={{ top: 8, right: 8, bottom: 0, left: 0 }} accessibilityLayer={false}>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis dataKey="label" tick={small} tickLine={false} axisLine={{ stroke: 'var(--edge)' }} minTickGap={24} />
        <YAxis
          tick={small}
          tickLine={false}
          axisLine={false}
          allowDecimals={false}
          width={48}
          tickFormatter={(value: number) => compact.format(value)}
        />
        <Tooltip
          cursor={{ fill: 'var(--sunken)' }}
          contentStyle={{
            background: 'var(--raised)',
            border: '1px solid var(--line)',
            borderRadius: 8,
            color: 'var(--ink)',
          }}
          itemStyle={{ color: 'var(--ink)' }}
          isAnimationActive={false}
        />
        {series.map(({ key, title, tone }) => (
          <Bar
            key={key}
            dataKey={key}
            name={title}
            fill={`var(--${tone})`}
            {...(!isGrouped && { stackId: 'all' })}
            maxBarSize={36}
            isAnimationActive={false}
          />
        ))}
        {limit && (
          <ReferenceLine
            y={limit.value}
            stroke="var(--amber)"
            strokeDasharray="4 3"
            label={{ value: limit.title, ...small, position: 'insideTopRight' }}
          />
        )}
      </BarChart>
    </ResponsiveContainer>
  )
}
