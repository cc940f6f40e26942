/** Written for Express, but `compression` needs only Node's request and response. */
declare module 'compression' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Filter = (request: IncomingMessage, response: ServerResponse) => boolean
  function compression(options: {
    filter: Filter
  }): (request: IncomingMessage, response: ServerResponse, next: () => void) => void
  namespace compression {
    /** Whether the media type of the response is compressible. */
    const filter: Filter
  }
  export default compression
}
