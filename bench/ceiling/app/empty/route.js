/** Nothing at all: what Next itself costs. Answered anew for each request, as our routes are. */
export const dynamic = 'force-dynamic'
export const GET = () => new Response(null, { status: 204 })
