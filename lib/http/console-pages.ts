import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import compression from 'compression'
import { builtFiles } from './built-files.ts'
import { isCompressible } from './compression.ts'

type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const compress = compression({
  filter: (request, response) => isCompressible(request) && compression.filter(request, response),
})

/**
 * Serves the console: files of the build from their compressed copies, and all other requests by Next, compressed.
 * @param next Next's request handler
 * @param folder the folder with `.next`
 */
export function consolePages(next: Pages, folder: string): Pages {
  const serveBuilt = builtFiles(join(folder, '.next/static'))
  return async (request, response) => {
    if (serveBuilt(request, response)) return
    await new Promise<void>((compressing) => compress(request, response, compressing))
    await next(request, response)
  }
}
