import { Bars, Sparkline } from '#components/ui/chart.tsx'
import { Timeline } from '#components/ui/timeline.tsx'

const hours = Array.from({ length: 12 }, (_, hour) => ({
  label: `${hour}:00`,
  values: { read: (hour * 7) % 11, write: (hour * 3) % 5 },
}))

export const ChartExamples = () => (
  <>
    <Bars
      label="Requests per hour"
      unit="Requests per hour"
      data={hours}
      series={[
        { key: 'read', title: 'Reads', tone: 'accent' },
        { key: 'write', title: 'Writes', tone: 'amber' },
      ]}
      limit={{ value: 12, title: 'Limit 12' }}
    />
    <Sparkline values={[1, 4, 2, 6, 3]} limit={5} label="Requests per day, at most 6; the line is the limit of 5" />
    <Timeline
      label="Timeline"
      events={[
        { key: 'received', at: '2026-01-01T12:00:00Z', title: 'Request received', by: 'Kim Example' },
        {
          key: 'verified',
          at: '2026-01-02T12:00:00Z',
          title: 'Identity confirmed',
          by: 'Otto Example',
          tone: 'progress',
        },
        { key: 'overdue', at: '2026-01-31T12:00:00Z', title: 'Deadline missed', tone: 'danger' },
        { key: 'done', at: null, title: 'Completed', tone: 'success', children: <p>The receipt is signed.</p> },
      ]}
    />
  </>
)
