/** The HTML with which a website embeds the form. It resizes the frame to the height that the form reports. */
export const embedSnippet = (origin: string, { locale, title }: { locale: string; title: string }): string =>
  `<iframe id="privacy-request" src="${origin}/embed/request?lang=${locale}" title="${title}" style="width:100%;border:0" height="1200"></iframe>
<script>
  addEventListener('message', ({ source, data }) => {
    const frame = document.getElementById('privacy-request')
    if (source === frame.contentWindow && data?.type === 'privacy-request-height') frame.height = data.height
  })
</script>`
