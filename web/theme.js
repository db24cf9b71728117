// theme.js - applies the reader's choice of light or dark before the first paint, which a module would miss.
{
    const theme = localStorage.getItem("pawl-theme");
    if (theme) document.documentElement.dataset.theme = theme;
}
