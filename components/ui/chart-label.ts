import { useFormatter } from 'next-intl'

/** What stands under a point of a picture over time. A day is UTC's, wherever it is looked at from; an hour is the reader's. */
export function useChartLabel(step: 'hour' | 'day'): (at: string) => string {
  const format = useFormatter()
  return (at) =>
    step === 'day'
      ? format.dateTime(new Date(at), { day: 'numeric', month: 'short', timeZone: 'UTC' })
      : format.dateTime(new Date(at), { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}
