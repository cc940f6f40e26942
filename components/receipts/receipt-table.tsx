import type { ReactNode } from 'react'

/** On a phone, each row becomes a list with the column names as labels. */
export function ReceiptTable({ columns, rows }: { columns: string[]; rows: { key: string; cells: ReactNode[] }[] }) {
  return (
    <table className="w-full border-collapse text-left text-sm max-sm:block">
      <thead className="max-sm:sr-only">
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col" className="border-b border-line py-1.5 pr-4 font-medium text-quiet">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {rows.map(({ key, cells }) => (
          <tr key={key} className="border-b border-line max-sm:grid max-sm:gap-0.5 max-sm:py-2">
            {cells.map((cell, index) => (
              <td
                key={columns[index]}
                className="py-1.5 pr-4 align-top wrap-break-word max-sm:flex max-sm:wrap-anywhere max-sm:gap-2 max-sm:py-0"
              >
                <span aria-hidden className="min-w-24 text-quiet sm:hidden print:hidden">
                  {columns[index]}
                </span>
                <span className="min-w-0">{cell}</span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
