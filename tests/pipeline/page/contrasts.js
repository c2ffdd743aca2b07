// The contrast of every text with what is behind it, and of the lanes' colours with the card (WCAG 2).
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || style.visibility === "hidden" || !element.getClientRects().length) continue;
    const colour = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    found.push([ratio(rgb(colour), behind(element)), 4.5, element.tagName, walker.currentNode.data.trim().slice(0, 30)]);
  }
  const card = document.querySelector(".card"), root = getComputedStyle(document.documentElement);
  for (let i = 0; i < 8; i++) found.push([ratio(rgb(root.getPropertyValue(`--lane-${i}`)), behind(card)), 3, "lane", i]);
  return found;
}
