import { useFormatter } from 'next-intl'

/** The axis label of a point in time. Days are UTC days; hours are in the reader's time zone. */
export function useChartLabel(step: 'hour' | 'day'): (at: string) => string {
  const format = useFormatter()
  return (at) =>
    step === 'day'
      ? format.dateTime(new Date(at), { day: 'numeric', month: 'short', timeZone: 'UTC' })
      : format.dateTime(new Date(at), { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}
