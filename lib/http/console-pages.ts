import { readdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import compression from 'compression'
import send from 'send'
import { acceptedEncoding, isCompressible } from './api-request.ts'

type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const compress = compression({
  filter: (request, response) => isCompressible(request) && compression.filter(request, response),
})

/** Where Next serves the files of a build. Their names contain a hash of their content or the id of the build. */
const root = '/_next/static/'
const suffixes = { br: '.br', gzip: '.gz', identity: '' } as const
const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** The paths of the files in a folder and its subfolders, with slashes. */
function namesIn(folder: string): ReadonlySet<string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Set(
    files.map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(folder.length + 1)
        .replaceAll(sep, '/'),
    ),
  )
}

/** Without 416, the file disappeared after the start: a new build replaced it. */
function refuse(response: ServerResponse, status: number): void {
  const range = response.getHeader('Content-Range')
  for (const header of response.getHeaderNames()) response.removeHeader(header)
  if (status === 416 && range !== undefined) response.setHeader('Content-Range', range)
  response.writeHead(status === 416 ? 416 : 404, { 'Cache-Control': 'no-store' }).end()
}

/**
 * Serves the scripts, styles and fonts of a build, compressed if the build has a compressed copy (`bin/compressed-copies.ts`). It serves
 * only the names that exist when it is created, so no request can leave the folder. Ranges and conditions follow RFC 9110.
 * @param folder `.next/static`
 * @returns a function that returns false, without a response, for every other request
 */
function builtFiles(folder: string): (request: IncomingMessage, response: ServerResponse) => boolean {
  const names = namesIn(join(folder))
  return (request, response) => {
    const { method, headers, url = '/' } = request
    const [path = '/'] = url.split('?', 1)
    const name = path.startsWith(root) ? path.slice(root.length) : ''
    const mediaType = mediaTypes[extname(name)]
    if ((method !== 'GET' && method !== 'HEAD') || mediaType === undefined || !names.has(name)) return false
    const accepted = acceptedEncoding(headers['accept-encoding']?.toString() ?? null)
    const encoding = names.has(name + suffixes[accepted]) ? accepted : 'identity'
    response.setHeader('Content-Type', mediaType)
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Vary', 'Accept-Encoding')
    if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding)
    send(request, name + suffixes[encoding], { root: folder, index: false, maxAge: '1y', immutable: true })
      .on('error', ({ status }: { status: number }) => refuse(response, status))
      .pipe(response)
    return true
  }
}

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
